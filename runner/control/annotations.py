"""How annotations set the runs of their object, within bounds; what is wrong in them is a warning. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime

from runner.config.golang import parse_duration
from runner.control.pause import MODE, PAUSED, Pause, pause_of, shortened
from runner.objects import PREFIX, Body, texts

PERIOD = PREFIX + "reconcile-period"
ARTIFACTS = PREFIX + "max-runner-artifacts"
VERBOSITY = PREFIX + "verbosity"

MOST_VERBOSE = 7
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DIGITS = 1000  # int() refuses very long ones; so many are out of every bound already


@dataclass(frozen=True, slots=True)
class Bounds:
    """What annotations may ask for: the shortest period, in seconds, and the most artifacts (below 1: any)."""

    shortest_period: float = 10.0
    most_artifacts: int = 100


class Annotations:
    """Reads the annotations of an object; `warnings` says what was not taken as it is written."""

    def __init__(self, metadata: Body, bounds: Bounds) -> None:
        self.warnings: list[str] = []
        self._texts = texts(metadata.get("annotations"))
        self._bounds = bounds

    def period(self, usual: float) -> float | None:
        """Seconds between runs, None for never. Raises ValueError for what is no duration.

        `usual` applies to objects without the annotation; what is good for all of them is not too short for one.
        """
        asked = parse_duration(self._texts[PERIOD]) if PERIOD in self._texts else usual
        if asked <= 0:
            return None
        shortest = min(self._bounds.shortest_period, usual if usual > 0 else math.inf)
        if asked < shortest:
            self._warn(PERIOD, f"is too short; using {shortest:g}s")
        return max(asked, shortest)

    def checks(self) -> bool:
        """Whether only check runs are wanted; what nobody knows counts as that, for it changes nothing."""
        mode = self._texts.get(MODE, "")
        if mode not in ("", "check"):
            self._warn(MODE, "is not `check`; taken for it, so that nothing is changed")
        return mode != ""

    def artifacts(self, usual: int) -> int:
        """How many runs' artifacts are kept, below 1 for all. `usual` is what other objects get."""
        asked = self._integer(ARTIFACTS, usual)
        if usual < 1 or self._bounds.most_artifacts < 1:
            return asked
        most = max(usual, self._bounds.most_artifacts)
        if 1 <= asked <= most:
            return asked
        self._warn(ARTIFACTS, f"is more than may be kept; using {most}")
        return most

    def verbosity(self, usual: int) -> int:
        """How many -v ansible-playbook gets."""
        asked = self._integer(VERBOSITY, usual)
        used = min(max(asked, 0), MOST_VERBOSE)
        if used != asked:
            self._warn(VERBOSITY, f"is not in 0 to {MOST_VERBOSE}; using {used}")
        return used

    def pause(self, now: datetime) -> Pause | None:
        """The pause that is asked for, unless it is over."""
        return pause_of(self._texts[PAUSED], now) if PAUSED in self._texts else None

    def has_integer(self, name: str) -> bool:
        return _INTEGER.fullmatch(self._texts.get(name, "")) is not None

    def _integer(self, name: str, usual: int) -> int:
        if name not in self._texts:
            return usual
        if not self.has_integer(name):
            self._warn(name, f"is not an integer; using {usual}")
            return usual
        return int(self._texts[name][:_DIGITS])

    def _warn(self, name: str, problem: str) -> None:
        self.warnings.append(f"annotation {name}: {shortened(self._texts[name])} {problem}")
