"""What one reconcile has learned so far, and where its time went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from runner.config.watches import Watch
from runner.control.conditions import Moment
from runner.control.entry import Entry
from runner.control.result import Stages
from runner.execute.run import Outcome
from runner.objects import Json, ObjectKey


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


@dataclass(slots=True)
class Attempt:
    """One reconcile under way. `generation` is the one it acts on, whatever the object's is by its end.

    `body` is the object as it was read last before the run.
    """

    entry: Entry
    watch: Watch
    stopwatch: Stopwatch
    now: Callable[[], datetime]
    generation: int = 0
    body: Json | None = None
    outcome: Outcome | None = None

    @property
    def key(self) -> ObjectKey:
        return self.entry.key

    @property
    def moment(self) -> Moment:
        return Moment(self.now(), self.generation)
