"""Processes of a run that cannot be ended: their run ends all the same, and only its object waits for them."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from runner.execute import child as module
from runner.execute import rundir as locks
from runner.execute.child import Child
from runner.execute.rundir import left_behind, locked
from tests.fixtures.descriptors import no_more_than, open_descriptors
from tests.fixtures.waiting import until
from tests.fixtures.warm import PATIENCE

POWERLESS = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("supervisor", {supervisor!r})
supervisor = importlib.util.module_from_spec(spec)
spec.loader.exec_module(supervisor)
supervisor.GRACE = supervisor.GIVEN_UP = 0.1
supervisor._signal_all = lambda number: None
sys.exit(supervisor.main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]))
"""
"""A supervisor whose signals have no effect: as on another user's processes, or those that hang in the kernel."""
LEAVING = "setsid sleep 1000 >/dev/null 2>&1 & echo $!; exit 3"


@pytest.fixture
def powerless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "powerless.py"
    program.write_text(POWERLESS.format(supervisor=str(module._SUPERVISOR)))
    monkeypatch.setattr(module, "_SUPERVISOR", program)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "PATIENCE", 0.1)


async def a_run_that_leaves_something(tmp_path: Path) -> tuple[int, int]:
    """The process that it leaves, and the run's exit code."""
    lock = await locked(tmp_path / "lock")
    command = ["/bin/sh", "-c", LEAVING]
    child = await Child.start(command, cwd=tmp_path, env=dict(os.environ), lock=lock)
    os.close(lock)
    left = int(await child.output.readline())
    async with asyncio.timeout(PATIENCE):
        code = await child.wait()
    child.close()
    return left, code


@pytest.mark.usefixtures("powerless", "impatient")
async def test_the_run_ends_and_whoever_waits_for_its_lock_is_told_what_keeps_it(tmp_path: Path) -> None:
    left, code = await a_run_that_leaves_something(tmp_path)
    try:
        assert code == 3
        with pytest.raises(TimeoutError, match=rf"have not ended: {left} \(sleep\)"):
            await locked(tmp_path / "lock")
    finally:
        os.kill(left, signal.SIGKILL)


@pytest.mark.usefixtures("powerless")
async def test_the_next_run_goes_on_when_the_leftovers_have_ended(tmp_path: Path) -> None:
    left, _ = await a_run_that_leaves_something(tmp_path)
    os.kill(left, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE):
        lock = await locked(tmp_path / "lock")
    assert left_behind(lock) == ""
    os.close(lock)


async def test_a_run_that_leaves_nothing_says_so(tmp_path: Path) -> None:
    lock = await locked(tmp_path / "lock")
    child = await Child.start(["/bin/true"], cwd=tmp_path, env={}, lock=lock)
    await child.wait()
    child.close()
    assert left_behind(lock) == ""
    os.close(lock)


async def test_a_supervisor_that_does_not_answer_is_killed_with_what_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_END_WITHIN", 0.1)
    lock = await locked(tmp_path / "lock")
    command = ["/bin/sh", "-c", "setsid sleep 1000 & echo $!; wait"]
    child = await Child.start(command, cwd=tmp_path, env=dict(os.environ), lock=lock)
    os.close(lock)
    started = int(await child.output.readline())
    os.kill(child.pid, signal.SIGSTOP)
    child.end()
    async with asyncio.timeout(PATIENCE):
        assert await child.wait() == -signal.SIGKILL
    child.close()
    await until(lambda: not is_alive(started))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("more", range(7))
async def test_a_run_that_cannot_be_started_for_want_of_files_leaves_no_process(tmp_path: Path, more: int) -> None:
    lock = await locked(tmp_path / "lock")
    before = open_descriptors()
    with no_more_than(more), pytest.raises(OSError, match="Too many open files"):
        await Child.start(["/bin/sleep", "1000"], cwd=tmp_path, env={}, lock=lock)
    assert open_descriptors() == before
    os.close(lock)
    async with asyncio.timeout(PATIENCE):
        os.close(await locked(tmp_path / "lock"))
