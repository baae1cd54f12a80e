"""Where the node's cgroups go, decided by the kernel's own tables."""

from __future__ import annotations

from pathlib import Path

from tests.node.cgroups import hierarchies

MOUNTS = """tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
"""


def test_a_child_is_below_the_cgroup_of_this_process() -> None:
    (found,) = hierarchies(MOUNTS, "4:memory:/session/one\n")

    assert found.child("node") == Path("/sys/fs/cgroup/memory/session/one/node")


def test_controllers_that_share_a_hierarchy_and_named_ones_are_found() -> None:
    found = hierarchies(MOUNTS, "3:cpu,cpuacct:/\n9:name=systemd:/\n")

    assert [each.options for each in found] == ["cpu,cpuacct", "name=systemd"]


def test_the_unified_hierarchy_and_what_is_not_mounted_are_left_alone() -> None:
    assert hierarchies(MOUNTS, "0::/session\n5:devices:/\n") == ()
