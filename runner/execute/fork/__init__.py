"""The warm engine: runs that are forked from processes which have imported Ansible already.

Two zygotes are kept: one that has imported Ansible's controller side, from which runs are forked, and one that has
imported what modules need, from which modules are forked. What they are is in `inside`; the rest is the operator's
view of them.
"""
