"""The work queue against a model simple enough to be obviously right, in any order of calls."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from runner.control.queue import AGEING, Request, Trigger, WorkQueue
from runner.control.timers import Backoffs
from runner.objects import GroupVersionKind, ObjectKey
from tests.fixtures.clock import FakeClock

KINDS = [GroupVersionKind("example.com", "v1", kind) for kind in ("Apple", "Pear")]
KEYS = [ObjectKey(gvk, "ns", name) for gvk in KINDS for name in "abc"]
CAPS = {KINDS[0]: 1, KINDS[1]: 2}
TOTAL = 2

keys = st.sampled_from(KEYS)
delays = st.sampled_from([0.0, 1.0, 5.0, 60.0])


def take_at_once(queue: WorkQueue) -> Request | None:
    """What `get` answers without waiting; None where it would wait."""
    getter = queue.get()
    try:
        getter.send(None)
    except StopIteration as answer:
        entry: Request | None = answer.value
        return entry
    except RuntimeError:  # it asks for the event loop, so that it can wait: there is none here
        return None
    finally:
        getter.close()
    raise AssertionError("get() waited although there is no event loop")


class QueueMachine(RuleBasedStateMachine):
    """The model: for each waiting key its due time and triggers, and the set of active keys."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.queue = WorkQueue(self.clock, total=TOTAL, caps=CAPS, backoffs=Backoffs(FakeClock().clock()))
        self.waiting: dict[ObjectKey, tuple[float, frozenset[Trigger]]] = {}
        self.active: set[ObjectKey] = set()
        self.passed_over: dict[ObjectKey, int] = {}

    @rule(key=keys, trigger=st.sampled_from(list(Trigger)), after=delays)
    def add(self, key: ObjectKey, trigger: Trigger, after: float) -> None:
        self.queue.add(key, trigger, after=after)
        self.expect(key, trigger, after)

    def expect(self, key: ObjectKey, trigger: Trigger, after: float) -> None:
        now = self.clock.time()
        due = now + after
        before, triggers = self.waiting.get(key, (due, frozenset({trigger})))
        only_periods = triggers | {trigger} == {Trigger.PERIOD}
        if not (only_periods and before > now):
            due = min(due, before)
        self.waiting[key] = (due, triggers | {trigger})

    @rule(key=keys, generation=st.integers(1, 2))
    def retry(self, key: ObjectKey, generation: int) -> None:
        self.expect(key, Trigger.RETRY, self.queue.retry(key, generation))

    @rule(seconds=delays)
    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def eligible(self) -> list[ObjectKey]:
        if len(self.active) >= TOTAL:
            return []
        busy = {gvk: sum(key.gvk == gvk for key in self.active) for gvk in KINDS}
        return [
            key
            for key, (due, _) in self.waiting.items()
            if due <= self.clock.time() and key not in self.active and busy[key.gvk] < CAPS[key.gvk]
        ]

    @rule()
    def get(self) -> None:
        eligible = self.eligible()
        entry = take_at_once(self.queue)
        if entry is None:
            assert not eligible
            return
        assert entry.key in eligible
        assert entry.triggers == self.waiting[entry.key][1]
        self.note_overtaking(entry, eligible)
        del self.waiting[entry.key]
        self.active.add(entry.key)

    def note_overtaking(self, entry: Request, eligible: list[ObjectKey]) -> None:
        best = min(min(t.priority for t in self.waiting[key][1]) for key in eligible)
        if entry.priority > best:
            assert self.queue._taken % AGEING == 0
        self.passed_over.pop(entry.key, None)
        for key in eligible:
            if key != entry.key:
                self.passed_over[key] = self.passed_over.get(key, 0) + 1
                assert self.passed_over[key] <= AGEING * len(KEYS)

    @rule(key=keys)
    def done(self, key: ObjectKey) -> None:
        if key in self.active:
            self.active.remove(key)
            self.queue.done(key)

    @rule(key=keys)
    def drop(self, key: ObjectKey) -> None:
        self.queue.drop(key)
        if key in self.waiting and self.waiting[key][0] > self.clock.time():
            del self.waiting[key]

    @invariant()
    def the_counts_agree(self) -> None:
        assert len(self.queue) == len(self.waiting)
        depths = self.queue.depths().items()
        assert sum(depth.active for _, depth in depths) == len(self.active)
        assert sum(depth.due + depth.scheduled for _, depth in depths) == len(self.waiting)

    @invariant()
    def one_timer_is_enough(self) -> None:
        assert self.clock.timers <= 1


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=150, stateful_step_count=60)


def test_an_entry_that_is_due_can_be_taken_without_an_event_loop() -> None:
    queue = WorkQueue(FakeClock(), total=1)
    assert take_at_once(queue) is None
    queue.add(KEYS[0], Trigger.CHANGED)
    assert take_at_once(queue) is not None
