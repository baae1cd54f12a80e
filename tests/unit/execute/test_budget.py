"""Bytes that runs leave on disk stay within limits; the oldest go first."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from runner.execute.artifacts import EventFiles, StdoutFile
from runner.execute.budget import Budget, Limits, Room
from runner.execute.rundir import RunDirectory, try_lock
from runner.objects import GroupVersionKind, ObjectKey

BLOCK = 4096
THING = GroupVersionKind("example.com", "v1", "Thing")


class Disk:
    """A root of run directories, and what ends in them."""

    def __init__(self, root: Path, in_all: int = 0, per_object: int = 0) -> None:
        self.root = root
        self.budget = Budget(Limits(in_all, per_object))
        self._ended = 0

    def directory(self, name: str) -> RunDirectory:
        return RunDirectory.of(self.root, ObjectKey(THING, "ns", name))

    def leave(self, name: str, ident: str, size: int, extra_vars: int = 0) -> RunDirectory:
        """Write the files of a run that ended later than those before."""
        directory = self.directory(name)
        directory.make()
        directory.lock.touch()
        (directory.path / "env").mkdir(exist_ok=True)
        (directory.path / "env/extravars").write_bytes(b"x" * extra_vars)
        artifacts = directory.artifacts / ident
        (artifacts / "job_events").mkdir(parents=True)
        (artifacts / "job_events/1-a.json").write_bytes(b"x" * size)
        self._ended += 1
        os.utime(artifacts, ns=(self._ended, self._ended))
        return directory

    def run(self, name: str, ident: str, size: int, *, keep: int = 20, extra_vars: int = 0) -> None:
        """Perform a run that writes so many bytes, without regard to what it may write."""
        directory = self.leave(name, ident, size, extra_vars)
        lock = try_lock(directory.lock)
        assert lock is not None
        try:
            self.budget.settle(directory, ident, keep, self.budget.begin(directory))
        finally:
            os.close(lock)

    def kept(self) -> set[str]:
        return {
            f"{path.parent.parent.name}/{path.name}" for path in self.root.rglob("artifacts/*") if path.is_dir()
        }

    def counted_anew(self) -> int:
        """The bytes that an operator finds that starts now."""
        fresh = Budget(Limits(0, 0))
        names = {path.parent.name for path in self.root.rglob("artifacts")}
        fresh.measure([self.directory(name) for name in sorted(names)])
        return fresh.bytes


def test_artifacts_of_one_object_stay_within_its_limit_and_the_oldest_go_first(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root", per_object=10 * BLOCK)
    for number in range(5):
        disk.run("a", str(number), size=BLOCK)
        disk.run("b", str(number), size=BLOCK)
    assert disk.kept() == {"a/2", "a/3", "a/4", "b/2", "b/3", "b/4"}
    assert disk.budget.bytes == disk.counted_anew()


def test_artifacts_of_all_objects_stay_within_the_limit_and_the_oldest_go_first(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root", in_all=40 * BLOCK)
    for number in range(20):
        disk.run(f"o{number:02}", "1", size=BLOCK)
        assert disk.counted_anew() <= 40 * BLOCK
    kept = disk.kept()
    assert len(kept) > 3
    assert kept == {f"o{number:02}/1" for number in range(20 - len(kept), 20)}
    assert disk.budget.bytes == disk.counted_anew()


def test_newest_run_of_an_object_stays_though_it_alone_exceeds_the_limit(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root", per_object=2 * BLOCK)
    disk.run("a", "1", size=BLOCK)
    disk.run("a", "2", size=50 * BLOCK)
    assert disk.kept() == {"a/2"}


def test_extra_vars_count_and_go_with_the_last_run_of_their_object(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root", in_all=100 * BLOCK)
    disk.run("a", "1", size=BLOCK, extra_vars=50 * BLOCK)
    assert disk.budget.bytes >= 51 * BLOCK
    disk.run("b", "1", size=BLOCK, extra_vars=50 * BLOCK)
    assert disk.kept() == {"b/1"}
    assert not (disk.directory("a").path / "env").exists()
    assert disk.budget.bytes == disk.counted_anew()


def test_artifacts_of_an_object_with_a_run_under_way_are_left_alone(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root", in_all=40 * BLOCK)
    disk.run("busy", "1", size=BLOCK)
    lock = try_lock(disk.directory("busy").lock)
    assert lock is not None
    for number in range(20):
        disk.run(f"o{number:02}", "1", size=BLOCK)
    assert "busy/1" in disk.kept()
    os.close(lock)
    disk.run("last", "1", size=BLOCK)
    assert "busy/1" not in disk.kept()


def test_what_an_earlier_operator_left_counts_and_goes_first(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root", in_all=40 * BLOCK)
    directories = [disk.leave(name, "1", size=BLOCK) for name in ("a", "b", "c")]
    disk.budget.measure([*directories, disk.directory("never-run")])
    assert disk.budget.bytes == disk.counted_anew()
    for number in range(4):
        disk.run("new", str(number), size=5 * BLOCK)
    assert {f"new/{number}" for number in range(2, 4)} <= disk.kept()
    assert "a/1" not in disk.kept()


def test_runs_beyond_the_number_that_is_kept_no_longer_count(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root")
    for number in range(5):
        disk.run("a", str(number), size=BLOCK, keep=2)
    assert disk.kept() == {"a/3", "a/4"}
    assert disk.budget.bytes == disk.counted_anew()


def test_memory_does_not_grow_with_the_number_of_runs(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root")
    for number in range(250):
        disk.run("a", str(number), size=0, keep=1)
    assert len(disk.budget._oldest) <= 101


def test_object_that_is_gone_no_longer_counts(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root")
    disk.run("a", "1", size=BLOCK)
    disk.directory("a").remove()
    disk.budget.forget(disk.directory("a"))
    assert disk.budget.bytes == 0


def test_directory_that_vanished_is_forgotten_when_room_is_needed(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root", in_all=40 * BLOCK)
    disk.run("a", "1", size=20 * BLOCK)
    disk.directory("a").remove()
    disk.run("b", "1", size=20 * BLOCK)
    disk.run("c", "1", size=BLOCK)
    assert disk.budget.bytes == disk.counted_anew()


def test_runs_that_end_at_once_are_all_counted(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root", in_all=300 * BLOCK, per_object=20 * BLOCK)
    runs = [(f"o{number}", str(again)) for again in range(5) for number in range(8)]
    directories = {name: disk.directory(name) for name, _ in runs}
    for directory in directories.values():
        directory.make()

    def perform(name: str) -> None:
        for again in range(5):
            disk.run(name, str(again), size=3 * BLOCK)

    threads = [threading.Thread(target=perform, args=(name,)) for name in directories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert disk.budget.bytes == disk.counted_anew() <= 300 * BLOCK


@pytest.mark.parametrize("in_all", [0, 100 * BLOCK])
def test_run_that_writes_more_than_its_room_is_cut_and_says_so(tmp_path: Path, in_all: int) -> None:
    budget = Budget(Limits(in_all, 100 * BLOCK))
    disk = Disk(tmp_path / "root")
    directory = disk.leave("a", "1", size=0)
    room = budget.begin(directory)
    stdout = StdoutFile(directory.artifacts / "1", room.take)
    events = EventFiles(directory.artifacts / "1", room.take)
    for number in range(500):
        stdout.write("x" * BLOCK)
        partial = directory.artifacts / f"1/job_events/uuid{number}-partial.json"
        partial.write_text("{}")
        events.store({"uuid": f"uuid{number}", "counter": number, "stdout": "x" * 100})
    stdout.close()
    size = sum(path.stat().st_size for path in directory.artifacts.rglob("*"))
    assert size < 101 * BLOCK
    assert room.left_out > 400 * BLOCK
    assert "more characters were left out" in (directory.artifacts / "1/stdout").read_text()[-100:]
    assert not list(directory.artifacts.rglob("*-partial.json"))


def test_run_without_a_limit_writes_everything(tmp_path: Path) -> None:
    room = Room()
    assert all(room.take(1 << 40) for _ in range(1000))
    assert room.left_out == 0


def test_large_extra_vars_leave_room_for_some_output(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root")
    budget = Budget(Limits(0, 10 * BLOCK))
    room = budget.begin(disk.leave("a", "1", size=0, extra_vars=100 * BLOCK))
    assert room.take(10 * BLOCK)


def test_latest_link_does_not_outlive_the_run_it_leads_to(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root", in_all=40 * BLOCK)
    disk.run("a", "1", size=BLOCK)
    latest = disk.directory("a").artifacts / "latest"
    latest.symlink_to(disk.directory("a").artifacts / "1")
    disk.run("b", "1", size=29 * BLOCK)
    assert disk.kept() == {"b/1"}
    assert not latest.is_symlink()
