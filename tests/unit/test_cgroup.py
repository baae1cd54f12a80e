"""What the container may use and does use, of either version of control groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.cgroup import Memory, memory, processors

MEBI = 1 << 20
UNLIMITED_1 = "9223372036854771712\n"


def written(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def version_1(root: Path, limit: str = f"{768 * MEBI}\n", group: str = "") -> Path:
    return written(
        root,
        {
            f"memory{group}/memory.limit_in_bytes": limit,
            f"memory{group}/memory.usage_in_bytes": f"{300 * MEBI}\n",
            f"memory{group}/memory.max_usage_in_bytes": f"{400 * MEBI}\n",
            f"memory{group}/memory.stat": f"inactive_file 1\ntotal_inactive_file {60 * MEBI}\n"
            f"total_active_file {40 * MEBI}\n",
            f"memory{group}/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
        },
    )


def version_2(root: Path, limit: str = f"{768 * MEBI}\n") -> Path:
    return written(
        root,
        {
            "memory.max": limit,
            "memory.current": f"{300 * MEBI}\n",
            "memory.peak": f"{400 * MEBI}\n",
            "memory.stat": f"anon 7\ninactive_file {60 * MEBI}\nactive_file {40 * MEBI}\n",
            "memory.events": "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\n",
        },
    )


@pytest.mark.parametrize("version", [version_1, version_2])
def test_files_that_the_kernel_can_forget_do_not_count_as_used(version: object, tmp_path: Path) -> None:
    assert callable(version)
    found = memory(version(tmp_path), tmp_path / "no such file")
    assert found == Memory(limit=768 * MEBI, used=200 * MEBI, peak=400 * MEBI, kills=2)


def test_what_is_left_is_told_as_a_manifest_says_it() -> None:
    found = Memory(limit=768 * MEBI, used=200 * MEBI, peak=400 * MEBI, kills=2)
    assert (found.left, found.told) == (568 * MEBI, "limit 768Mi, used 200Mi, at most 400Mi")


def test_a_host_without_control_groups_has_no_limits(tmp_path: Path) -> None:
    assert (memory(tmp_path, tmp_path / "own"), processors(tmp_path, tmp_path / "own")) == (None, None)


def test_an_unlimited_group_of_version_1_has_no_limit(tmp_path: Path) -> None:
    assert memory(version_1(tmp_path, UNLIMITED_1), tmp_path / "own") is None


def test_an_unlimited_group_of_version_2_has_no_limit(tmp_path: Path) -> None:
    assert memory(version_2(tmp_path, "max\n"), tmp_path / "own") is None


def test_on_a_host_the_group_is_that_of_this_process(tmp_path: Path) -> None:
    root = version_1(version_1(tmp_path / "groups", UNLIMITED_1), group="/kubepods/pod1/c1")
    own = written(tmp_path, {"own": "5:cpu,cpuacct:/kubepods/pod1/c1\n4:memory:/kubepods/pod1/c1\n0::/\n"}) / "own"
    found = memory(root, own)
    assert found is not None
    assert found.limit == 768 * MEBI


def test_in_a_container_the_group_of_this_process_is_the_mount(tmp_path: Path) -> None:
    root = version_1(tmp_path / "groups")
    own = written(tmp_path, {"own": "4:memory:/kubepods/pod1/c1\n"}) / "own"
    assert memory(root, own) is not None


@pytest.mark.parametrize(
    ("files", "allowed"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
    ],
)
def test_processors_are_those_of_the_limit(files: dict[str, str], allowed: float | None, tmp_path: Path) -> None:
    assert processors(written(tmp_path, files), tmp_path / "own") == allowed
