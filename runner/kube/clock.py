"""Time, chance and patience: one Clock that tests drive, and how long to wait after the n-th failure in a row."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """`now` is monotonic, `wall` is since 1970, `sleep` waits; all in seconds. `uniform(a, b)` picks between."""

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    uniform: Callable[[float, float], float] = random.uniform


REAL = Clock()


def boottime() -> float:
    """Seconds since the machine was started; unlike `time.monotonic`, those it was suspended count."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


BOOT = Clock(now=boottime)
"""For what others rely on while this process may be frozen, or its machine asleep."""


class Backoff:
    """Doubles from `least` to `most` seconds; each answer lies between half of that and all of it."""

    def __init__(self, least: float, most: float, clock: Clock = REAL) -> None:
        self._least = least
        self._most = most
        self._clock = clock
        self.failures = 0

    def next(self, limit: float | None = None) -> float:
        """Seconds to wait now; never less than `least`, never more than `most`, nor than this time's `limit`.

        What reaches `limit` is not counted.
        """
        high = self._least * 2.0 ** min(self.failures, 64)
        if limit is None or high < limit:
            self.failures += 1
        return max(self._least, min(high, self._most, limit or self._most) * self._clock.uniform(0.5, 1.0))

    def reset(self) -> None:
        self.failures = 0
