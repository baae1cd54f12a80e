"""The supervisor alone: exit codes, leftovers, its lock and its lifeline."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runner.execute.child import Child
from runner.execute.rundir import locked
from runner.kube.clock import boottime
from tests.fixtures.waiting import until

PATIENCE = 20.0


@pytest.fixture
async def lock(tmp_path: Path) -> AsyncIterator[int]:
    descriptor = await locked(tmp_path / "lock")
    yield descriptor
    os.close(descriptor)


async def started(script: str, tmp_path: Path, lock: int) -> Child:
    return await Child.start(["/bin/sh", "-c", script], cwd=tmp_path, env=dict(os.environ), lock=lock)


async def ended(child: Child) -> int:
    async with asyncio.timeout(PATIENCE):
        code = await child.wait()
    child.close()
    return code


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 128 + 9), ("kill -TERM $$", 128 + 15)]
)
async def test_the_exit_code_is_that_of_the_command(tmp_path: Path, lock: int, script: str, code: int) -> None:
    assert await ended(await started(script, tmp_path, lock)) == code


async def test_a_command_that_is_not_there_is_said_in_the_output(tmp_path: Path, lock: int) -> None:
    child = await Child.start(["/missing"], cwd=tmp_path, env={}, lock=lock)

    assert await child.output.read() == b"cannot start /missing: No such file or directory\n"
    assert await ended(child) == 127


async def test_stdout_and_stderr_come_as_one_in_order(tmp_path: Path, lock: int) -> None:
    child = await started("echo a; echo b >&2; echo c", tmp_path, lock)

    assert await child.output.read() == b"a\nb\nc\n"
    await ended(child)


async def test_the_command_is_given_the_default_signals_and_no_descriptors(tmp_path: Path, lock: int) -> None:
    child = await Child.start(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            "print(open('/proc/self/status').read(), *__import__('os').listdir('/proc/self/fd'))",
        ],
        cwd=tmp_path,
        env={},
        lock=lock,
    )
    shown = (await child.output.read()).decode()
    await ended(child)

    ignored = int(shown.partition("SigIgn:")[2].split()[0], 16)
    assert not ignored & (1 << (signal.SIGTERM - 1) | 1 << (signal.SIGINT - 1))
    assert len(shown.rpartition("\n")[2].split()) <= 4  # the three of every process, and the listing's own


async def test_what_is_left_when_the_command_ends_is_ended(tmp_path: Path, lock: int) -> None:
    child = await started("setsid sleep 1000 >/dev/null 2>&1 & echo $!", tmp_path, lock)
    left = int(await child.output.readline())

    assert await ended(child) == 0
    assert not alive(left)


async def test_a_descendant_may_clean_up_when_it_is_ended(tmp_path: Path, lock: int) -> None:
    child = await started(
        "trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.05; done", tmp_path, lock
    )
    await child.output.readline()
    child.end()

    assert b"cleaned\n" in await child.output.read()
    assert await ended(child) == 3


async def test_a_signal_does_not_part_it_from_its_descendants(tmp_path: Path, lock: int) -> None:
    child = await started("echo $$; sleep 1000", tmp_path, lock)
    command = int(await child.output.readline())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(child.pid, number)
    assert alive(command)
    child.end()
    await ended(child)

    assert not alive(command)


async def test_even_a_killed_supervisor_takes_the_command_with_it(tmp_path: Path, lock: int) -> None:
    child = await started("echo $$; exec sleep 1000", tmp_path, lock)
    command = int(await child.output.readline())
    os.kill(child.pid, signal.SIGKILL)

    assert await ended(child) == -signal.SIGKILL
    await until(lambda: not alive(command))


async def test_the_lock_is_held_until_the_last_descendant_is_gone(tmp_path: Path) -> None:
    first = await locked(tmp_path / "lock")
    child = await started("echo $$; trap '' TERM; while :; do sleep 0.05; done", tmp_path, first)
    os.close(first)
    await child.output.readline()
    second = os.open(tmp_path / "lock", os.O_RDWR)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        child.end()
        await ended(child)
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(second)


async def test_a_lock_on_a_file_that_was_removed_meanwhile_is_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = await locked(path)
    waiting = asyncio.create_task(locked(path))
    await asyncio.sleep(0)
    path.unlink()
    os.close(first)
    second = await waiting
    try:
        assert os.path.samestat(os.fstat(second), path.stat())
    finally:
        os.close(second)


async def test_everything_ends_at_the_deadline(tmp_path: Path, lock: int) -> None:
    child = await Child.start(["/bin/sleep", "600"], cwd=tmp_path, env={}, lock=lock, until=boottime() + 0.2)

    assert await ended(child) == 128 + signal.SIGTERM


async def test_a_later_deadline_lets_the_command_go_on(tmp_path: Path, lock: int) -> None:
    script = ["/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; exit 7"]
    first = boottime() + 1.0
    child = await Child.start(script, cwd=tmp_path, env=dict(os.environ), lock=lock, until=first)
    child.extend(first + PATIENCE)
    while boottime() < first + 0.2:  # noqa: ASYNC110  (only time can show that the first moment has no effect)
        await asyncio.sleep(0.05)
    (tmp_path / "go").touch()

    assert await ended(child) == 7


async def test_a_later_deadline_for_what_has_ended_does_nothing(tmp_path: Path, lock: int) -> None:
    child = await started("exit 0", tmp_path, lock)
    await ended(child)

    child.extend(boottime() + 1)
