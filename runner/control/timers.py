"""Keys that become due later, how long a failing one waits, and where the time of a reconcile goes."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from runner.kube.clock import REAL, Backoff
from runner.kube.clock import Clock as Patience
from runner.objects import ObjectKey

_SMALL = 64  # a heap this short is never worth rebuilding

FIRST = 0.005
LONGEST = 6 * 3600.0
"""Seconds: the backoff after a first failure, and after many."""


class Handle(Protocol):
    """A timer that was set, as asyncio gives it back."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """The two methods of an asyncio event loop that tell and wait for the time, in seconds."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callable[[], object], /) -> Handle: ...


class Agenda:
    """Calls `on_due(key)` once the time of a key has come. A key has one time; the last one put counts."""

    def __init__(self, clock: Clock, on_due: Callable[[ObjectKey], None]) -> None:
        self._clock = clock
        self._on_due = on_due
        self._due: dict[ObjectKey, float] = {}
        self._heap: list[tuple[float, int, ObjectKey]] = []
        self._serial = count()
        self._timer: Handle | None = None
        self._armed_for = float("inf")

    def put(self, key: ObjectKey, due: float) -> None:
        self._due[key] = due
        heapq.heappush(self._heap, (due, next(self._serial), key))
        self._forget_replaced()
        self._arm()

    def remove(self, key: ObjectKey) -> None:
        self._due.pop(key, None)

    def __len__(self) -> int:
        return len(self._due)

    def close(self) -> None:
        self._due.clear()
        self._heap.clear()
        self._disarm()

    def _forget_replaced(self) -> None:
        # A removed or replaced time stays in the heap until it comes; a period may be hours away.
        if len(self._heap) <= max(_SMALL, 2 * len(self._due)):
            return
        self._heap = [item for item in self._heap if self._due.get(item[2]) == item[0]]
        heapq.heapify(self._heap)

    def _arm(self) -> None:
        if not self._heap or self._heap[0][0] >= self._armed_for:
            return
        self._disarm()
        self._armed_for = self._heap[0][0]
        self._timer = self._clock.call_at(self._armed_for, self._fire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._armed_for = float("inf")

    def _fire(self) -> None:
        self._disarm()
        now = self._clock.time()
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            if self._due.get(key) == due:
                del self._due[key]
                self._on_due(key)
        self._arm()


class Backoffs:
    """The backoff of each key that failed last, from `FIRST` to `LONGEST` seconds."""

    def __init__(self, clock: Patience = REAL) -> None:
        self._clock = clock
        self._failing: dict[ObjectKey, tuple[int, Backoff]] = {}

    def next(self, key: ObjectKey, generation: int, *, limit: float = LONGEST) -> float:
        """Count one more failure and say how long to wait; a new generation starts from the beginning.

        A generation of 0 is unknown. What reaches `limit` counts no further, so that transient failures do not
        make the object itself wait for hours.
        """
        seen, backoff = self._failing.get(key) or (generation, Backoff(FIRST, LONGEST, self._clock))
        if generation and seen and seen != generation:
            backoff.reset()
        self._failing[key] = (generation or seen, backoff)
        return backoff.next(limit)

    def reset(self, key: ObjectKey) -> None:
        self._failing.pop(key, None)

    def __len__(self) -> int:
        """How many keys are failing."""
        return len(self._failing)


@dataclass(frozen=True, slots=True)
class Stages:
    """Where the time of a reconcile went, in seconds. `waited` is the time in the queue once due."""

    waited: float = 0.0
    get: float = 0.0
    prepare: float = 0.0
    ansible: float = 0.0
    status: float = 0.0

    @property
    def seconds(self) -> float:
        """How long the reconcile took, once it was its turn."""
        return self.get + self.prepare + self.ansible + self.status


class Stopwatch:
    """Adds the time since the last lap to the stage that just ended."""

    def __init__(self, seconds: Callable[[], float], waited: float) -> None:
        self._seconds = seconds
        self._last = seconds()
        self._stages = {"waited": waited}

    def lap(self, stage: str) -> None:
        now = self._seconds()
        self._stages[stage] = self._stages.get(stage, 0.0) + now - self._last
        self._last = now

    def stages(self) -> Stages:
        """Where the time went so far."""
        return Stages(**self._stages)
