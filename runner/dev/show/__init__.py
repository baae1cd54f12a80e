"""A person's view of an operator at work: the demo, the benchmark, and what the tests share with them."""
