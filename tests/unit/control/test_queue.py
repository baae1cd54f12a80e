"""The contract of the work queue, on a clock that only the test moves."""

from __future__ import annotations

import asyncio

import pytest

from runner.control.queue import AGEING, Depth, Priority, Request, Trigger, WorkQueue
from runner.control.request import Reason
from runner.control.timers import LONGEST, Backoffs
from runner.objects import GroupVersionKind, ObjectKey
from tests.fixtures.clock import FakeClock

APPLE = GroupVersionKind("fruit.example.com", "v1", "Apple")
PEAR = GroupVersionKind("fruit.example.com", "v1", "Pear")


def key(name: str, gvk: GroupVersionKind = APPLE) -> ObjectKey:
    return ObjectKey(gvk, "orchard", name)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock) -> WorkQueue:
    return make(clock)


def make(clock: FakeClock, total: int = 100, **caps: int) -> WorkQueue:
    named = {"apple": APPLE, "pear": PEAR}
    return WorkQueue(
        clock,
        total=total,
        caps={named[kind]: cap for kind, cap in caps.items()},
        backoffs=Backoffs(FakeClock().clock()),
    )


async def take(queue: WorkQueue) -> Request:
    entry = await asyncio.wait_for(queue.get(), 1)
    assert entry is not None
    return entry


async def names(queue: WorkQueue, number: int) -> list[str]:
    return [(await take(queue)).key.name for _ in range(number)]


async def nothing_is_due(queue: WorkQueue) -> bool:
    getter = asyncio.ensure_future(queue.get())
    for _ in range(3):
        await asyncio.sleep(0)
    idle = not getter.done()
    getter.cancel()
    await asyncio.gather(getter, return_exceptions=True)
    return idle


async def test_entries_of_one_priority_come_in_the_order_they_were_added(queue: WorkQueue) -> None:
    for name in "cab":
        queue.add(key(name), Trigger.CHANGED)
    assert await names(queue, 3) == ["c", "a", "b"]


async def test_a_key_added_twice_is_one_entry_with_both_triggers(queue: WorkQueue) -> None:
    queue.add(key("a"), Trigger.DEPENDENT)
    queue.add(key("a"), Trigger.CHANGED)
    entry = await take(queue)
    assert entry.triggers == {Trigger.DEPENDENT, Trigger.CHANGED}
    assert entry.priority is Priority.CHANGE
    assert await nothing_is_due(queue)


async def test_adding_a_key_again_keeps_its_place(queue: WorkQueue) -> None:
    for name in "aba":
        queue.add(key(name), Trigger.CHANGED)
    assert await names(queue, 2) == ["a", "b"]


async def test_urgent_entries_come_first(queue: WorkQueue) -> None:
    for trigger in (Trigger.START, Trigger.RETRY, Trigger.DEPENDENT, Trigger.CHANGED, Trigger.DELETING):
        queue.add(key(trigger.value), trigger)
    assert await names(queue, 5) == ["deleting", "changed", "dependent", "retry", "start"]


async def test_a_change_promotes_an_entry_that_waits(queue: WorkQueue) -> None:
    queue.add(key("backlog"), Trigger.START)
    queue.add(key("edited"), Trigger.START)
    queue.add(key("edited"), Trigger.CHANGED)
    assert await names(queue, 2) == ["edited", "backlog"]


async def test_an_active_key_is_not_handed_out_again(queue: WorkQueue) -> None:
    queue.add(key("a"), Trigger.CHANGED)
    await take(queue)
    queue.add(key("a"), Trigger.CHANGED)
    assert await nothing_is_due(queue)


async def test_a_key_added_while_active_runs_once_more_afterwards(queue: WorkQueue) -> None:
    queue.add(key("a"), Trigger.CREATED)
    await take(queue)
    queue.add(key("a"), Trigger.DEPENDENT)
    queue.add(key("a"), Trigger.CHANGED)
    queue.done(key("a"))
    assert (await take(queue)).triggers == {Trigger.DEPENDENT, Trigger.CHANGED}
    queue.done(key("a"))
    assert await nothing_is_due(queue)


async def test_a_period_set_after_a_change_while_active_does_not_delay_the_change(queue: WorkQueue) -> None:
    queue.add(key("a"), Trigger.CREATED)
    await take(queue)
    queue.add(key("a"), Trigger.CHANGED)
    queue.add(key("a"), Trigger.PERIOD, after=3600)
    queue.done(key("a"))
    assert Trigger.CHANGED in (await take(queue)).triggers


async def test_a_delayed_entry_is_due_after_its_delay_and_not_before(queue: WorkQueue, clock: FakeClock) -> None:
    queue.add(key("a"), Trigger.RETRY, after=10)
    clock.advance(9.9)
    assert await nothing_is_due(queue)
    clock.advance(0.1)
    assert await names(queue, 1) == ["a"]


async def test_a_getter_that_waits_is_woken_by_the_timer(queue: WorkQueue, clock: FakeClock) -> None:
    queue.add(key("a"), Trigger.RETRY, after=10)
    getter = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    clock.advance(10)
    entry = await asyncio.wait_for(getter, 1)
    assert entry is not None
    assert entry.key == key("a")


@pytest.mark.parametrize(("first", "second"), [(10.0, 20.0), (20.0, 10.0)])
async def test_of_two_delays_the_earlier_counts(
    queue: WorkQueue, clock: FakeClock, first: float, second: float
) -> None:
    queue.add(key("a"), Trigger.RETRY, after=first)
    queue.add(key("a"), Trigger.REQUEUED, after=second)
    clock.advance(10)
    assert (await take(queue)).triggers == {Trigger.RETRY, Trigger.REQUEUED}
    queue.done(key("a"))
    clock.advance(20)
    assert await nothing_is_due(queue)


async def test_a_period_replaces_an_older_period(queue: WorkQueue, clock: FakeClock) -> None:
    queue.add(key("a"), Trigger.PERIOD, after=10)
    queue.add(key("a"), Trigger.PERIOD, after=30)
    clock.advance(29)
    assert await nothing_is_due(queue)
    clock.advance(1)
    assert await names(queue, 1) == ["a"]


@pytest.mark.parametrize("scheduled", [Trigger.RETRY, Trigger.PERIOD])
async def test_a_change_does_not_wait_for_what_is_scheduled(queue: WorkQueue, scheduled: Trigger) -> None:
    queue.add(key("a"), scheduled, after=1000)
    queue.add(key("a"), Trigger.CHANGED)
    assert (await take(queue)).triggers == {scheduled, Trigger.CHANGED}


async def test_a_thousand_delays_cost_one_timer(queue: WorkQueue, clock: FakeClock) -> None:
    for number in range(1000):
        queue.add(key(str(number)), Trigger.PERIOD, after=1000 - number)
    assert clock.timers == 1


async def test_replaced_delays_do_not_pile_up(queue: WorkQueue) -> None:
    for number in range(1000):
        queue.add(key("a"), Trigger.PERIOD, after=36000 + number)
    assert len(queue._agenda._heap) < 100


async def test_a_full_kind_does_not_block_another(clock: FakeClock) -> None:
    queue = make(clock, apple=1)
    for name in "ab":
        queue.add(key(name), Trigger.DELETING)
    queue.add(key("p", PEAR), Trigger.START)
    assert await names(queue, 2) == ["a", "p"]
    assert await nothing_is_due(queue)


async def test_a_freed_slot_of_a_kind_is_used_again(clock: FakeClock) -> None:
    queue = make(clock, apple=1)
    for name in "ab":
        queue.add(key(name), Trigger.CHANGED)
    await take(queue)
    getter = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    queue.done(key("a"))
    entry = await asyncio.wait_for(getter, 1)
    assert entry is not None
    assert entry.key.name == "b"


async def test_the_total_cap_holds_over_all_kinds(clock: FakeClock) -> None:
    queue = make(clock, total=2)
    for kind in (APPLE, PEAR):
        for name in "ab":
            queue.add(key(name, kind), Trigger.CHANGED)
    await names(queue, 2)
    assert await nothing_is_due(queue)


async def test_kinds_take_turns_in_order_of_arrival(clock: FakeClock) -> None:
    queue = make(clock)
    for name in "ab":
        queue.add(key(name), Trigger.START)
        queue.add(key("p" + name, PEAR), Trigger.START)
    assert await names(queue, 4) == ["a", "pa", "b", "pb"]


async def test_a_flood_of_changes_does_not_starve_the_backlog(queue: WorkQueue) -> None:
    queue.add(key("old"), Trigger.START)
    for number in range(2 * AGEING):
        queue.add(key(str(number)), Trigger.CHANGED)
    assert "old" in await names(queue, AGEING)


async def test_a_change_overtakes_a_backlog_however_long_that_waited(queue: WorkQueue, clock: FakeClock) -> None:
    for number in range(100):
        queue.add(key(str(number)), Trigger.START)
    clock.advance(36000)
    queue.add(key("new"), Trigger.CHANGED)
    assert await names(queue, 1) == ["new"]


async def test_retries_back_off_and_start_again_after_success(queue: WorkQueue) -> None:
    delays = [queue.retry(key("a"), 1) for _ in range(4)]
    queue.succeeded(key("a"))
    assert [*delays, queue.retry(key("a"), 1)] == [0.005, 0.01, 0.02, 0.04, 0.005]


async def test_a_new_generation_starts_the_backoff_again(queue: WorkQueue) -> None:
    queue.retry(key("a"), 1)
    queue.retry(key("a"), 1)
    assert queue.retry(key("a"), 2) == 0.005


def test_the_backoff_ends_at_its_limit() -> None:
    backoffs = Backoffs(FakeClock().clock())
    delays = [backoffs.next(key("a"), 1) for _ in range(2000)]
    assert delays[-1] == LONGEST


def test_the_limit_of_one_retry_can_be_lower() -> None:
    backoffs = Backoffs(FakeClock().clock())
    delays = [backoffs.next(key("a"), 1, limit=30) for _ in range(20)]
    assert delays[-1] == 30


async def test_dropping_a_key_forgets_its_timer_and_its_backoff(queue: WorkQueue, clock: FakeClock) -> None:
    queue.retry(key("a"), 1)
    queue.retry(key("a"), 1)
    queue.drop(key("a"))
    clock.advance(100)
    assert await nothing_is_due(queue)
    assert queue.retry(key("a"), 1) == 0.005


async def test_dropping_a_key_keeps_the_news_of_an_object_created_since(queue: WorkQueue) -> None:
    queue.add(key("a"), Trigger.GONE)
    await take(queue)
    queue.add(key("a"), Trigger.CREATED)
    queue.drop(key("a"))
    queue.done(key("a"))
    assert (await take(queue)).triggers == {Trigger.CREATED}


async def test_closing_the_queue_wakes_every_getter_with_nothing(queue: WorkQueue, clock: FakeClock) -> None:
    queue.add(key("a"), Trigger.RETRY, after=10)
    getters = [asyncio.ensure_future(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.close()
    assert await asyncio.wait_for(asyncio.gather(*getters), 1) == [None, None, None]
    assert clock.timers == 0


async def test_a_closed_queue_hands_out_nothing(queue: WorkQueue) -> None:
    queue.add(key("a"), Trigger.CHANGED)
    queue.close()
    queue.add(key("b"), Trigger.CHANGED)
    assert await queue.get() is None


async def test_an_entry_is_not_lost_with_a_getter_cancelled_as_it_is_woken(queue: WorkQueue) -> None:
    cancelled, waiting = (asyncio.ensure_future(queue.get()) for _ in range(2))
    await asyncio.sleep(0)
    queue.add(key("a"), Trigger.CHANGED)
    cancelled.cancel()
    entry = await asyncio.wait_for(waiting, 1)
    assert entry is not None
    assert entry.key == key("a")


async def test_an_entry_says_how_long_it_was_due(queue: WorkQueue, clock: FakeClock) -> None:
    queue.add(key("a"), Trigger.RETRY, after=10)
    clock.advance(25)
    assert (await take(queue)).waited == pytest.approx(15)


async def test_the_depth_of_the_queue_is_told_per_kind(queue: WorkQueue) -> None:
    queue.add(key("a"), Trigger.CHANGED)
    await take(queue)
    queue.add(key("b"), Trigger.CHANGED)
    queue.add(key("c"), Trigger.PERIOD, after=10)
    queue.add(key("p", PEAR), Trigger.PERIOD, after=10)
    assert queue.depths() == {APPLE: Depth(1, 1, 1), PEAR: Depth(0, 1, 0)}


EDITED = Reason(Trigger.DEPENDENT, key("child"), "kubectl-edit", ("spec.size",))


async def test_a_request_carries_the_reasons_of_all_that_made_it_due(queue: WorkQueue) -> None:
    queue.add(key("a"), Trigger.RETRY)
    queue.add(key("a"), Trigger.DEPENDENT, reason=EDITED)
    assert (await take(queue)).reasons.first == (Reason(Trigger.RETRY), EDITED)


async def test_what_would_have_come_later_is_no_reason(queue: WorkQueue, clock: FakeClock) -> None:
    queue.add(key("a"), Trigger.PERIOD, after=60)
    queue.add(key("a"), Trigger.DEPENDENT, reason=EDITED)
    entry = await take(queue)
    assert entry.triggers == {Trigger.PERIOD, Trigger.DEPENDENT}
    assert entry.reasons.first == (EDITED,)
    queue.add(key("a"), Trigger.CHANGED)
    queue.add(key("a"), Trigger.PERIOD, after=60)
    queue.done(key("a"))
    assert (await take(queue)).reasons.first == (Reason(Trigger.CHANGED),)


async def test_a_period_that_has_passed_is_the_reason(queue: WorkQueue, clock: FakeClock) -> None:
    queue.add(key("a"), Trigger.PERIOD, after=60)
    queue.add(key("a"), Trigger.RETRY, after=90)
    clock.advance(61)
    assert (await take(queue)).reasons.first == (Reason(Trigger.PERIOD),)


async def test_checks_wait_for_all_that_is_real_however_long_they_have_been_due(queue: WorkQueue) -> None:
    queue.add(key("check"), Trigger.DRIFT)
    for number in range(2 * AGEING):
        queue.add(key(f"{number}"), Trigger.START)
    assert (await names(queue, 2 * AGEING + 1))[-1] == "check"


async def test_what_is_real_makes_a_check_that_waits_urgent(queue: WorkQueue, clock: FakeClock) -> None:
    queue.add(key("a"), Trigger.DRIFT, after=600)
    queue.add(key("a"), Trigger.CHANGED)
    entry = await take(queue)
    assert entry.triggers == {Trigger.DRIFT, Trigger.CHANGED}
    assert entry.reasons.first == (Reason(Trigger.CHANGED),)
