"""What a reconcile came to, and where its time went."""

from __future__ import annotations

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

    `generation` is the one that was reconciled. `transient` says that it may pass by itself, so that the
    backoff stays short.
    """

    verdict: Verdict
    after: float | None = None
    trigger: Trigger = Trigger.PERIOD
    generation: int = 0
    transient: bool = False


@dataclass(frozen=True, slots=True)
class Stages:
    """Where the time of a reconcile went, in seconds. `waited` is the time in the queue once due."""

    waited: float = 0.0
    get: float = 0.0
    prepare: float = 0.0
    ansible: float = 0.0
    status: float = 0.0
