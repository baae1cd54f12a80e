"""Where the node's cgroups go, decided by the kernel's own tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.node.cgroups import hierarchies, make, remove
from tests.node.programs import Programs
from tests.node.sandbox import init_script

MOUNTS = """tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
"""
UNIFIED = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0\n"


def test_a_child_is_below_the_cgroup_of_this_process() -> None:
    (found,) = hierarchies(MOUNTS, "4:memory:/session/one\n")

    assert found.child("node") == Path("/sys/fs/cgroup/memory/session/one/node")


def test_controllers_that_share_a_hierarchy_and_named_ones_are_found() -> None:
    found = hierarchies(MOUNTS, "3:cpu,cpuacct:/\n9:name=systemd:/\n")

    assert [each.options for each in found] == ["cpu,cpuacct", "name=systemd"]


def test_that_of_version_2_and_what_is_not_mounted_are_left_alone() -> None:
    (found,) = hierarchies(MOUNTS, "0::/session\n4:memory:/session\n5:devices:/\n")

    assert found.options == "memory"


def test_of_version_2_alone_the_child_is_below_the_root_as_a_group_with_processes_gives_no_controllers() -> None:
    (found,) = hierarchies(UNIFIED, "0::/user.slice/session-1.scope\n")

    assert found.child("node") == Path("/sys/fs/cgroup/node")


def test_of_version_2_the_node_s_own_processes_are_beside_its_pods() -> None:
    (found,) = hierarchies(UNIFIED, "0::/\n")

    assert found.leaf("node") == Path("/sys/fs/cgroup/node/init")


def test_of_version_2_the_controllers_are_enabled_for_the_child(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    made = hierarchies(f"cgroup2 {tmp_path} cgroup2 rw 0 0\n", "0::/\n")
    make(made, "node")

    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"


def test_what_was_made_is_removed_with_all_below(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("memory\n")
    (made,) = hierarchies(f"cgroup2 {tmp_path} cgroup2 rw 0 0\n", "0::/\n")
    make([made], "node")
    (made.child("node") / "kubepods/burstable").mkdir(parents=True)
    remove([made.child("node")])

    assert not made.child("node").exists()


@pytest.mark.parametrize(
    ("mounts", "memberships", "mounted"),
    [
        (UNIFIED, "0::/\n", ["mount -t cgroup2 cgroup2 /sys/fs/cgroup"]),
        (MOUNTS, "4:memory:/\n", ["mount -t cgroup -o memory cgroup /sys/fs/cgroup/memory"]),
    ],
    ids=["version-2", "version-1"],
)
def test_the_node_has_the_machine_s_version(mounts: str, memberships: str, mounted: list[str]) -> None:
    programs = Programs(Path("/built"), Path("/packages"))
    script = init_script(Path("/node"), programs, hierarchies(mounts, memberships))

    assert [line for line in script.splitlines() if line.startswith("mount -t cgroup")] == mounted
