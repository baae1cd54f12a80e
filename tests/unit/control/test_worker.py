"""Workers: what follows a reconcile, and how they stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from runner.control.attempt import Result, Verdict
from runner.control.queue import Request, Trigger, WorkQueue
from runner.control.timers import Backoffs
from runner.control.worker import LONGEST_TRANSIENT, Workers, follow_up
from runner.objects import GroupVersionKind, ObjectKey
from tests.fixtures.clock import FakeClock
from tests.fixtures.waiting import until

APPLE = GroupVersionKind("fruit.example.com", "v1", "Apple")


def key(name: str) -> ObjectKey:
    return ObjectKey(APPLE, "orchard", name)


class Bench:
    """A queue and two workers whose reconciles wait until `release` is set."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.queue = WorkQueue(self.clock, total=2, backoffs=Backoffs(FakeClock().clock()))
        self.release = asyncio.Event()
        self.release.set()
        self.result = Result(Verdict.SUCCEEDED)
        self.started: list[Request] = []
        self.ended: list[str] = []
        self.workers = Workers(self.queue, self.reconcile, 2)

    async def reconcile(self, entry: Request) -> Result:
        self.started.append(entry)
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("finished")
        return self.result


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    bench.workers.start()
    yield bench
    await bench.workers.stop(0)


async def test_a_key_is_reconciled_and_its_slot_given_back(bench: Bench) -> None:
    for name in "abc":
        bench.queue.add(key(name), Trigger.CHANGED)
    await until(lambda: len(bench.ended) == 3)
    assert sorted(entry.key.name for entry in bench.started) == ["a", "b", "c"]


async def test_no_more_reconciles_run_side_by_side_than_there_are_workers(bench: Bench) -> None:
    bench.release.clear()
    for name in "abc":
        bench.queue.add(key(name), Trigger.CHANGED)
    await until(lambda: len(bench.started) == 2)
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(bench.started) == 2


async def test_a_period_comes_round_again(bench: Bench) -> None:
    bench.result = Result(Verdict.SUCCEEDED, 60)
    bench.queue.add(key("a"), Trigger.CREATED)
    await until(lambda: len(bench.ended) == 1)
    bench.clock.advance(60)
    await until(lambda: len(bench.ended) == 2)
    assert bench.started[1].triggers == {Trigger.PERIOD}


async def test_what_is_taken_and_what_follows_is_told_to_whoever_debugs(bench: Bench) -> None:
    bench.result = Result(Verdict.SUCCEEDED, 60)
    with capture_logs() as logs:
        bench.queue.add(key("a"), Trigger.CREATED)
        await until(lambda: len(logs) == 2)
    assert [(log["event"], log["log_level"]) for log in logs] == [("Taken", "debug"), ("Followed up", "debug")]
    assert logs[1]["again_in"] == 60


async def test_what_is_being_reconciled_is_known(bench: Bench) -> None:
    bench.release.clear()
    bench.queue.add(key("a"), Trigger.CREATED)
    await until(lambda: len(bench.started) == 1)
    assert list(bench.workers.busy()) == [key("a")]
    bench.release.set()
    await until(lambda: not bench.workers.busy())


async def test_active_reconciles_may_finish_within_the_grace_period(bench: Bench) -> None:
    bench.release.clear()
    bench.queue.add(key("a"), Trigger.CHANGED)
    await until(lambda: len(bench.started) == 1)
    stopping = asyncio.create_task(bench.workers.stop(-1))
    await asyncio.sleep(0)
    bench.release.set()
    assert await asyncio.wait_for(stopping, 5) is True
    assert bench.ended == ["finished"]


async def test_a_reconcile_still_active_after_the_grace_period_is_cancelled(bench: Bench) -> None:
    bench.release.clear()
    bench.queue.add(key("a"), Trigger.CHANGED)
    await until(lambda: len(bench.started) == 1)
    assert await bench.workers.stop(0) is False
    assert bench.ended == ["cancelled"]


async def test_cancelling_ends_active_reconciles_also_while_they_are_waited_for(bench: Bench) -> None:
    bench.release.clear()
    bench.queue.add(key("a"), Trigger.CHANGED)
    await until(lambda: len(bench.started) == 1)
    stopping = asyncio.create_task(bench.workers.stop(-1))
    await asyncio.sleep(0)
    bench.workers.cancel()
    await asyncio.wait_for(stopping, 5)
    assert bench.ended == ["cancelled"]


async def test_workers_that_stop_take_nothing_new(bench: Bench) -> None:
    assert await bench.workers.stop(10) is True
    bench.queue.add(key("a"), Trigger.CHANGED)
    assert bench.started == []


def next_due(queue: WorkQueue, clock: FakeClock) -> float | None:
    """In how many seconds the one key of the queue is due."""
    waiting = queue._waiting.get(key("a"))
    return None if waiting is None else round(waiting.due - clock.time(), 6)


@pytest.mark.parametrize(
    ("result", "after"),
    [
        (Result(Verdict.SUCCEEDED, 60), 60),
        (Result(Verdict.SUCCEEDED), None),
        (Result(Verdict.REQUEUED, 30, Trigger.REQUEUED), 30),
        (Result(Verdict.SKIPPED, 10), 10),
        (Result(Verdict.SKIPPED), None),
        (Result(Verdict.FAILED, generation=1), 0.005 * 2**20),
        (Result(Verdict.FAILED, 30, Trigger.REQUEUED, 1), 30),
        (Result(Verdict.FAILED, generation=2), 0.005),
        (Result(Verdict.FAILED, transient=True), LONGEST_TRANSIENT),
        (Result(Verdict.GONE), None),
    ],
)
def test_the_verdict_decides_when_a_key_comes_next_even_after_many_failures(
    result: Result, after: float | None
) -> None:
    clock = FakeClock()
    backoffs = Backoffs(FakeClock().clock())
    queue = WorkQueue(clock, total=1, backoffs=backoffs)
    for _ in range(20):
        backoffs.next(key("a"), 1)
    follow_up(queue, key("a"), result)
    assert next_due(queue, clock) == after


def test_a_failed_run_that_named_its_delay_does_not_back_off_too() -> None:
    clock, backoffs = FakeClock(), Backoffs()
    queue = WorkQueue(clock, total=1, backoffs=backoffs)
    follow_up(queue, key("a"), Result(Verdict.FAILED, 30, Trigger.REQUEUED, 1))
    assert (next_due(queue, clock), len(backoffs)) == (30, 0)


@pytest.mark.parametrize("verdict", [Verdict.SUCCEEDED, Verdict.REQUEUED, Verdict.GONE])
def test_success_and_absence_start_the_backoff_again(verdict: Verdict) -> None:
    backoffs = Backoffs()
    backoffs.next(key("a"), 1)
    follow_up(WorkQueue(FakeClock(), total=1, backoffs=backoffs), key("a"), Result(verdict))
    assert len(backoffs) == 0


def test_transient_errors_do_not_make_the_object_wait_for_hours() -> None:
    backoffs = Backoffs(FakeClock().clock())
    for _ in range(100):
        backoffs.next(key("a"), 0, limit=LONGEST_TRANSIENT)
    assert backoffs.next(key("a"), 1) < 2 * LONGEST_TRANSIENT
