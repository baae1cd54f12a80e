"""The programs of the zygotes. They import nothing else of `runner`, which a role could come to see.

The operator starts each as a Python of its own, with this directory as the package `ansible_operator_warm`.
"""
