"""How long to wait after the n-th failure in a row, spread out so that many waiters do not return at once."""

from __future__ import annotations

from runner.kube.clock import REAL, Clock


class Backoff:
    """Doubles from `least` to `most` seconds; each answer lies between half of that and all of it."""

    def __init__(self, least: float, most: float, clock: Clock = REAL) -> None:
        self._least = least
        self._most = most
        self._clock = clock
        self.failures = 0

    def next(self) -> float:
        """Seconds to wait now; never less than `least`, never more than `most`."""
        high = min(self._most, self._least * 2.0 ** min(self.failures, 32))
        self.failures += 1
        return max(self._least, high * self._clock.uniform(0.5, 1.0))

    def reset(self) -> None:
        self.failures = 0
