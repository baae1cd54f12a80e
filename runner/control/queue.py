"""The work queue: which custom resource is reconciled next, and which must wait.

Made for tens of thousands of keys on one event loop: no task and no timer per key.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from runner.control.request import Kind, Priority, Reason, Reasons, Request, Trigger, Waiting, age
from runner.control.timers import LONGEST, Agenda, Backoffs, Clock
from runner.objects import GroupVersionKind, ObjectKey

__all__ = ["Depth", "Priority", "Request", "Trigger", "Work", "WorkQueue"]

AGEING = 8
"""Every so many-th request taken is the one that has been due longest, so that nothing starves."""

_PERIODIC = frozenset({Trigger.PERIOD})


@dataclass(frozen=True, slots=True)
class Depth:
    """How many keys of one kind are due and wait, are scheduled for later, and are being reconciled."""

    due: int
    scheduled: int
    active: int


@dataclass(frozen=True, slots=True)
class Work:
    """Of one kind: requests that ever became due, or were retried; the ages of those under way, in seconds."""

    added: int
    retried: int
    ages: tuple[float, ...]


class WorkQueue:
    """One request per key; a key is never active twice; urgent ones first; a full kind never blocks another.

    `total` caps what is active at a time over all kinds, `caps` each kind; a kind without a cap has `total`.
    `clock` is an asyncio event loop, or a test's stand-in for one.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        total: int,
        caps: Mapping[GroupVersionKind, int] | None = None,
        backoffs: Backoffs | None = None,
    ) -> None:
        self._clock = clock
        self._total = total
        self._caps = dict(caps or {})
        self._backoffs = Backoffs() if backoffs is None else backoffs
        self._kinds: dict[GroupVersionKind, Kind] = {}
        self._waiting: dict[ObjectKey, Waiting] = {}
        self._active: dict[ObjectKey, float] = {}
        self._agenda = Agenda(clock, self._now_due)
        self._getters: deque[asyncio.Future[None]] = deque()
        self._order = 0
        self._taken = 0
        self._closed = False

    def add(self, key: ObjectKey, trigger: Trigger, *, after: float = 0.0, reason: Reason | None = None) -> None:
        """Have `key` reconciled in `after` seconds; `reason` says more than the trigger alone.

        A key that is there already keeps the earlier time and the higher priority; only a period replaces a
        period. A key that is being reconciled is kept, and runs once more when that is done.
        """
        if self._closed:
            return
        now, reasons = self._clock.time(), Reasons.of(trigger, reason)
        due = now + max(after, 0.0)
        waiting = self._waiting.get(key)
        if waiting is None:
            self._waiting[key] = waiting = Waiting(key, frozenset({trigger}), due, trigger.priority, reasons)
            self._kind(key).known += 1
            self._place(waiting)
            return
        waiting.because(reasons, due, now)
        if waiting.order:
            self._promote(waiting, trigger)
        else:
            waiting.due = due if waiting.triggers == {trigger} == _PERIODIC else min(due, waiting.due)
            waiting.merge(trigger)
            self._place(waiting)

    async def get(self) -> Request | None:
        """The next request, once there is one and a slot for it; None when the queue was closed.

        The key stays active until `done`.
        """
        while not self._closed:
            request = self._take()
            if request is not None:
                return request
            await self._something_new()
        return None

    def done(self, key: ObjectKey) -> None:
        """Give the slot of an active key back; what was added for it meanwhile is served now."""
        del self._active[key]
        self._kind(key).active -= 1
        waiting = self._waiting.get(key)
        if waiting is not None:
            self._place(waiting)
        self._wake()

    def retry(self, key: ObjectKey, generation: int, *, limit: float = LONGEST) -> float:
        """Add `key` after its next backoff, at most about `limit` seconds; returns the delay."""
        delay = self._backoffs.next(key, generation, limit=limit)
        self._kind(key).retried += 1
        self.add(key, Trigger.RETRY, after=delay)
        return delay

    def succeeded(self, key: ObjectKey) -> None:
        """Start the backoff of `key` from the beginning."""
        self._backoffs.reset(key)

    def drop(self, key: ObjectKey) -> None:
        """Forget timers and backoff of an object that is gone.

        What is due stays: it may be about an object of the same name that was created since.
        """
        self._backoffs.reset(key)
        waiting = self._waiting.get(key)
        if waiting is not None and waiting.due > self._clock.time():
            self._agenda.remove(key)
            self._forget(waiting)

    def depths(self) -> dict[GroupVersionKind, Depth]:
        return {gvk: Depth(len(kind), kind.known - len(kind), kind.active) for gvk, kind in self._kinds.items()}

    def work(self) -> dict[GroupVersionKind, Work]:
        now = self._clock.time()
        ages: dict[GroupVersionKind, list[float]] = {gvk: [] for gvk in self._kinds}
        for key, since in self._active.items():
            ages[key.gvk].append(now - since)
        return {gvk: Work(kind.added, kind.retried, tuple(ages[gvk])) for gvk, kind in self._kinds.items()}

    def __len__(self) -> int:
        """How many keys wait, now or later; active ones that were not added again do not count."""
        return len(self._waiting)

    def close(self) -> None:
        """Hand out nothing more and accept nothing more; every getter wakes up with None."""
        self._closed = True
        self._agenda.close()
        while self._getters:
            self._wake()

    def _kind(self, key: ObjectKey) -> Kind:
        kind = self._kinds.get(key.gvk)
        if kind is None:
            kind = self._kinds[key.gvk] = Kind(max(1, self._caps.get(key.gvk, self._total)))
        return kind

    def _place(self, waiting: Waiting) -> None:
        if waiting.key in self._active:
            return
        if waiting.due > self._clock.time():
            self._agenda.put(waiting.key, waiting.due)
            return
        self._agenda.remove(waiting.key)
        self._order += 1
        waiting.order = self._order
        kind = self._kind(waiting.key)
        kind.put(waiting)
        kind.added += 1
        self._wake()

    def _promote(self, waiting: Waiting, trigger: Trigger) -> None:
        if trigger.priority < waiting.priority:
            kind = self._kind(waiting.key)
            kind.remove(waiting)
            waiting.merge(trigger)
            kind.put(waiting)
        else:
            waiting.merge(trigger)

    def _forget(self, waiting: Waiting) -> None:
        del self._waiting[waiting.key]
        self._kind(waiting.key).known -= 1

    def _now_due(self, key: ObjectKey) -> None:
        self._place(self._waiting[key])

    def _take(self) -> Request | None:
        waiting = self._choose() if len(self._active) < self._total else None
        if waiting is None:
            return None
        kind = self._kind(waiting.key)
        kind.remove(waiting)
        kind.active += 1
        self._forget(waiting)
        self._active[waiting.key] = self._clock.time()
        self._taken += 1
        waited = max(0.0, self._clock.time() - waiting.due)
        return Request(waiting.key, waiting.triggers, waited, waiting.reasons)

    def _choose(self) -> Waiting | None:
        free = [kind for kind in self._kinds.values() if kind.active < kind.cap]
        if self._taken % AGEING == AGEING - 1:
            aged = [waiting for kind in free if (waiting := kind.oldest())]
            return min(aged, key=age, default=None)
        heads = [waiting for kind in free if (waiting := kind.first())]
        return min(heads, key=lambda waiting: (waiting.priority, waiting.order), default=None)

    async def _something_new(self) -> None:
        getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            await getter
        except asyncio.CancelledError:
            if getter.done() and not getter.cancelled():
                self._wake()  # this wake-up was for somebody who will not use it
            raise

    def _wake(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return
