"""How long a failing key waits before it is tried again.

It starts in milliseconds because roles poll by failing, and doubles because a run costs a lot of CPU.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from runner.objects import ObjectKey

FIRST = 0.005
LONGEST = 6 * 3600.0
JITTER = 0.2


class Backoff:
    """Counts the failures in a row of each key. Delays are in seconds, each ±20 %."""

    def __init__(self, *, randomness: Callable[[], float] = random.random) -> None:
        self._random = randomness
        self._failures: dict[ObjectKey, tuple[int, int]] = {}

    def next(self, key: ObjectKey, generation: int, *, limit: float = LONGEST) -> float:
        """Count one more failure and say how long to wait; a new generation starts from the beginning.

        A generation of 0 is unknown. What reaches `limit` counts no further, so that transient failures do not
        make the object itself wait for hours.
        """
        seen, failures = self._failures.get(key, (generation, 0))
        if generation and seen and seen != generation:
            failures = 0
        delay = FIRST * 2.0**failures
        self._failures[key] = (generation or seen, failures + 1 if delay < limit else failures)
        return min(limit, delay) * (1 + JITTER * (2 * self._random() - 1))

    def reset(self, key: ObjectKey) -> None:
        self._failures.pop(key, None)

    def __len__(self) -> int:
        """How many keys are failing."""
        return len(self._failures)
