"""What killed children have left: real processes, seen as orphans of a fork server."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.observer import wait_for
from runner.execute.fork.inside import children as module
from runner.execute.fork.inside.children import Orphans

PATIENCE = 10.0


class Processes:
    """Those below the fork server; those that are `alive` belong to one of its children."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []
        self.alive: set[int] = set()

    def start(self) -> int:
        self.started.append(subprocess.Popen(["/bin/sleep", "1000"]))
        return self.started[-1].pid

    def below(self, _of: int = 0) -> list[int]:
        return [process.pid for process in self.started if process.poll() is None]


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    processes = Processes()
    monkeypatch.setattr(module, "descendants", processes.below)
    yield processes
    monkeypatch.undo()
    for process in processes.started:
        process.kill()
        process.wait()


@pytest.fixture
def powerless(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if they were another user's; and given up at once."""

    def kill(_pid: int, _number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", kill)
    monkeypatch.setattr(module, "GIVEN_UP", -1.0)


def lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def wait_for_the_end_of(orphans: Orphans) -> None:
    wait_for("the end of the orphans", lambda: orphans.look(set) is None, seconds=PATIENCE, every=0.005)


def test_orphans_are_killed_and_the_lock_is_let_go_of_when_they_have_ended(
    processes: Processes, tmp_path: Path
) -> None:
    processes.start()
    orphans = Orphans()
    orphans.of_killed(lock(tmp_path / "lock"))
    assert is_locked(tmp_path / "lock")
    wait_for_the_end_of(orphans)
    assert not is_locked(tmp_path / "lock")
    assert processes.below() == []


def test_without_orphans_the_lock_is_let_go_of_at_once(processes: Processes, tmp_path: Path) -> None:
    assert processes.below() == []
    orphans = Orphans()
    orphans.of_killed(lock(tmp_path / "lock"))
    assert orphans.look(set) is None
    assert not is_locked(tmp_path / "lock")


def test_a_process_of_a_child_that_was_not_killed_is_left_alone(processes: Processes, tmp_path: Path) -> None:
    processes.alive.add(processes.start())
    orphans = Orphans()
    orphans.of_killed(lock(tmp_path / "lock"))
    assert orphans.look(lambda: processes.alive) is None
    assert processes.below() == list(processes.alive)


@pytest.mark.usefixtures("powerless")
def test_an_orphan_that_cannot_be_killed_is_named_and_keeps_its_lock(
    processes: Processes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    left = processes.start()
    orphans = Orphans()
    orphans.of_killed(lock(tmp_path / "lock"))
    orphans.look(set)
    assert f"cannot be ended: {left} (sleep)" in capfd.readouterr().err
    assert (tmp_path / "lock").read_text() == f"{left} (sleep)"
    assert is_locked(tmp_path / "lock")


@pytest.mark.usefixtures("powerless")
def test_an_orphan_that_cannot_be_killed_does_not_keep_the_lock_of_another_run(
    processes: Processes, tmp_path: Path
) -> None:
    processes.start()
    orphans = Orphans()
    orphans.of_killed(lock(tmp_path / "first"))
    orphans.look(set)
    orphans.of_killed(lock(tmp_path / "second"))
    orphans.look(set)
    assert (is_locked(tmp_path / "first"), is_locked(tmp_path / "second")) == (True, False)


@pytest.mark.usefixtures("powerless")
def test_the_lock_is_let_go_of_when_an_orphan_that_could_not_be_killed_has_ended(
    processes: Processes, tmp_path: Path
) -> None:
    processes.start()
    orphans = Orphans()
    orphans.of_killed(lock(tmp_path / "lock"))
    orphans.look(set)
    pidfd = os.pidfd_open(processes.started[0].pid)
    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    os.close(pidfd)
    wait_for_the_end_of(orphans)
    assert not is_locked(tmp_path / "lock")


def test_of_two_runs_that_were_killed_at_once_none_is_let_go_of_before_all_have_ended(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose they are cannot be seen."""
    processes.start()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(os, "kill", lambda _pid, _number: None)
        orphans = Orphans()
        orphans.of_killed(lock(tmp_path / "first"))
        orphans.look(set)
        orphans.of_killed(lock(tmp_path / "second"))
        orphans.look(set)
    assert is_locked(tmp_path / "first")
    assert is_locked(tmp_path / "second")
    wait_for_the_end_of(orphans)
    assert not is_locked(tmp_path / "second")
