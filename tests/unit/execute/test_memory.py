"""Which run waits for memory, which ends for want of it."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.cgroup import Memory
from runner.execute.executor import Executor
from runner.execute.memory import (
    FASTEST,
    LATE,
    LEAST_RESERVE,
    RUN,
    Growth,
    MemoryGuard,
    Place,
    fits,
    interval,
    short,
    sizes,
)

MEBI = 1 << 20
LIMIT = 1000 * MEBI
RESERVE = 50 * MEBI
LARGE = "x = bytearray(64 << 20); x[::4096] = b'1' * len(x[::4096]); print(flush=True); open(0).read()"


def memory(left: int, limit: int = LIMIT, kills: int = 0) -> Memory:
    return Memory(limit=limit, used=limit - left, peak=limit - left, kills=kills)


@dataclass
class Process:
    pid: int


@contextmanager
def python(script: str) -> Iterator[Process]:
    """A process that has said that it is ready, and waits for the end of its input."""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield Process(process.pid)


@pytest.fixture
def large() -> Iterator[Process]:
    """A process with 64 MiB of its own."""
    with python(LARGE) as process:
        yield process


@pytest.mark.parametrize(("left", "fitting"), [(RUN, True), (RUN - 1, False)])
def test_a_run_fits_above_the_reserve(left: int, *, fitting: bool) -> None:
    assert fits(memory(RESERVE + left), runs=1, at_rest=100 * MEBI) is fitting


@pytest.mark.parametrize(("runs", "fitting"), [(3, True), (4, False)])
def test_runs_that_have_just_begun_count_as_what_they_will_take(runs: int, *, fitting: bool) -> None:
    at_rest = LIMIT - RESERVE - 4 * RUN
    assert fits(memory(LIMIT - at_rest), runs=runs, at_rest=at_rest) is fitting


@pytest.mark.parametrize(("left", "ends"), [(RESERVE, False), (RESERVE - 1, True)])
def test_memory_is_short_when_the_reserve_is_touched(left: int, *, ends: bool) -> None:
    assert short(memory(left)) is ends


@pytest.mark.parametrize(("left", "ends"), [(3 * RESERVE, False), (3 * RESERVE - 1, True)])
def test_memory_is_short_when_a_late_look_would_find_the_reserve_touched(left: int, *, ends: bool) -> None:
    assert short(memory(left), rate=2 * RESERVE / LATE) is ends


def test_memory_that_becomes_free_again_is_no_more_of_it_yet() -> None:
    assert short(memory(RESERVE - 1), rate=-2 * RESERVE / LATE)


def test_growth_is_what_was_added_since_the_last_look() -> None:
    growth = Growth()
    assert [growth.rate(used, now) for used, now in ((100, 1.0), (300, 1.5), (200, 2.5))] == [0, 400, -100]


def test_growth_within_no_time_is_none() -> None:
    growth = Growth()
    assert [growth.rate(used, 1.0) for used in (100, 900)] == [0, 0]


def test_growth_of_looks_in_quick_succession_is_that_of_all_who_may_be_late() -> None:
    growth = Growth()
    for look in range(100):
        growth.rate(0, look * LATE / 4)
    assert growth.rate(100, 100 * LATE / 4) == pytest.approx(100 / LATE)


async def test_a_run_that_grows_fast_is_ended_before_the_reserve_is_touched(large: Process) -> None:
    left = LIMIT
    guard = MemoryGuard(lambda: memory(left))
    async with run(guard, large.pid) as place:
        await asyncio.sleep(0)  # the first look
        left = RESERVE + MEBI  # after the next, a tenth of a second later at most: 9 GiB a second
        await asyncio.wait_for(place.ended, 30)


def test_the_reserve_of_a_small_container_is_not_smaller() -> None:
    assert short(memory(LEAST_RESERVE - 1, limit=100 * MEBI))


def test_the_size_of_a_run_is_what_its_processes_have_alone(large: Process) -> None:
    assert 64 * MEBI < sizes(large.pid)[large.pid] < 96 * MEBI


@pytest.mark.parametrize("pid", [0, 2**22 + 1])
def test_a_run_without_a_process_has_no_size(pid: int) -> None:
    assert sum(sizes(pid).values()) == 0


@asynccontextmanager
async def run(guard: MemoryGuard, pid: int = 0) -> AsyncIterator[Place]:
    """A run under way."""
    with closing(guard.place()) as place:
        await asyncio.wait_for(guard.take(place), 30)
        place.process = Process(pid)
        yield place


async def test_the_largest_run_is_ended_and_told_why(large: Process) -> None:
    left = LIMIT
    guard = MemoryGuard(lambda: memory(left))
    with subprocess.Popen(["/bin/sleep", "60"]) as sleep:
        async with run(guard, sleep.pid) as small, run(guard, large.pid) as place:
            left = 0
            why = await asyncio.wait_for(place.ended, 30)
        sleep.kill()
    assert why.startswith("limit 1000Mi, used 1000Mi, at most 1000Mi, of which this run 6")
    assert not small.ended.done()


FORKING = "import os; x = bytearray(b'1') * (64 << 20); os.fork() and print(flush=True); open(0).read()"


def test_of_processes_forked_from_one_what_they_share_counts_once() -> None:
    with python(FORKING) as process:
        assert 64 * MEBI < sum(sizes(process.pid).values()) < 96 * MEBI


@pytest.mark.parametrize("tells", [True, False])
def test_processes_below_are_found_whether_or_not_the_kernel_tells_of_children(
    monkeypatch: pytest.MonkeyPatch, *, tells: bool
) -> None:
    monkeypatch.setattr("runner.execute.memory._TELLS_CHILDREN", tells)
    with python(FORKING) as process:
        assert len(sizes(process.pid)) == 2


async def test_the_largest_process_of_the_run_that_has_to_end_is_killed_at_once(large: Process) -> None:
    left = LIMIT
    guard = MemoryGuard(lambda: memory(left))
    died = os.pidfd_open(large.pid)
    async with run(guard, large.pid) as place:
        left = 0
        await asyncio.wait_for(place.ended, 30)
        # Nobody has ended the run.
        assert await asyncio.to_thread(select.select, [died], [], [], 30) == ([died], [], [])
    os.close(died)


@pytest.mark.parametrize(
    ("left", "seconds"), [(LIMIT, 0.1), (RESERVE + FASTEST // 50, 0.02), (RESERVE, 0.002), (0, 0.002)]
)
def test_the_less_is_left_the_sooner_it_looks_again(left: int, seconds: float) -> None:
    assert interval(memory(left)) == pytest.approx(seconds)


async def test_runs_and_reviews_are_counted_by_one_guard_so_that_one_of_them_is_ended(
    large: Process, tmp_path: Path
) -> None:
    runs = Executor(tmp_path / "runs")
    left = RESERVE * 4
    runs.memory = MemoryGuard(lambda: memory(left))
    reviews = Executor(tmp_path / "reviews", sibling=runs)
    async with run(runs.memory) as of_run, run(reviews.memory, large.pid) as of_review:
        left = RESERVE - 1
        await asyncio.wait({of_run.ended, of_review.ended}, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        assert of_review.ended.done()
        assert not of_run.ended.done()


async def test_a_second_run_is_not_ended_before_the_first_is_gone() -> None:
    left, looks, looked_again = LIMIT, 0, asyncio.Event()

    def read() -> Memory:
        nonlocal looks
        if first.ended.done() or second.ended.done():
            looks += 1
        if looks == 3:
            looked_again.set()
        return memory(left)

    guard = MemoryGuard(lambda: memory(left))
    async with run(guard, 0) as first, run(guard, 0) as second:
        guard._read = read
        left = 0
        await asyncio.wait_for(looked_again.wait(), 30)
        assert first.ended.done() is not second.ended.done()


async def test_a_second_run_is_ended_when_it_takes_what_the_end_of_the_first_gave_back(large: Process) -> None:
    back: list[int] = []

    def read() -> Memory:
        if first.ended.done() and not back:
            back.append(LIMIT)
            return memory(LIMIT)
        return memory(0)

    guard = MemoryGuard(lambda: memory(LIMIT))
    with python(LARGE.replace("64", "96")) as larger:
        async with run(guard, larger.pid) as first, run(guard, large.pid) as second:
            guard._read = read
            await asyncio.wait_for(first.ended, 30)
            assert not second.ended.done()
            await asyncio.wait_for(second.ended, 30)


async def test_the_only_run_waits_for_nothing() -> None:
    async with run(MemoryGuard(lambda: memory(0))):
        pass


async def test_a_run_waits_until_there_is_room() -> None:
    left = RESERVE
    guard = MemoryGuard(lambda: memory(left))
    async with run(guard):
        waiting = asyncio.create_task(guard.take(guard.place()))
        done, _ = await asyncio.wait({waiting}, timeout=0.3)
        assert not done
        left = LIMIT
        await asyncio.wait_for(waiting, 30)


async def test_a_run_waits_until_no_other_is_under_way() -> None:
    guard = MemoryGuard(lambda: memory(RESERVE))
    async with run(guard):
        waiting = asyncio.create_task(guard.take(guard.place()))
        await asyncio.sleep(0)
        assert not waiting.done()
    await asyncio.wait_for(waiting, 30)


async def test_without_a_limit_nothing_waits_and_nothing_is_read_again() -> None:
    looks = 0

    def read() -> None:
        nonlocal looks
        looks += 1

    guard = MemoryGuard(read)
    async with run(guard), run(guard):
        pass
    assert (looks, guard.killed()) == (1, "")


@pytest.mark.parametrize(("kills", "told"), [(0, ""), (1, "limit 1000Mi, used 1000Mi, at most 1000Mi")])
def test_the_kernel_says_whether_it_has_killed(kills: int, told: str) -> None:
    assert MemoryGuard(lambda: memory(0, kills=kills)).killed() == told
