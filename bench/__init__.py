"""The demo, the benchmark, and the harness that tests share with them. Not part of the wheel."""
