"""Time and chance as one value, so that tests drive both and never wait."""

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
