"""What a reconcile came to, and where its time went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from runner.control.entry import Trigger


class Verdict(StrEnum):
    """How a reconcile ended."""

    SUCCEEDED = "succeeded"
    REQUEUED = "requeued"
    FAILED = "failed"
    SKIPPED = "skipped"
    GONE = "gone"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Result:
    """How a reconcile ended and what follows: `trigger` in `after` seconds (None: nothing), or the backoff.

    `generation` is the one that was reconciled. `weather` says that the failure was the API server's, not the
    object's, so that the backoff stays short.
    """

    verdict: Verdict
    after: float | None = None
    trigger: Trigger = Trigger.PERIOD
    generation: int = 0
    weather: bool = False


@dataclass(frozen=True, slots=True)
class Stages:
    """Where the time of a reconcile went, in seconds. `waited` is the time in the queue once due."""

    waited: float = 0.0
    get: float = 0.0
    prepare: float = 0.0
    ansible: float = 0.0
    status: float = 0.0


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
        return Stages(**self._stages)
