"""The annotations that say whether to run: to run now, to pause, or to change nothing. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from runner.control import status
from runner.control.request import Trigger
from runner.control.status import Moment, Status, conditions_of, find, status_of
from runner.objects import PREFIX, PRUNE_PLACES, Body

RECONCILE = PREFIX + "reconcile"
PAUSED = PREFIX + "paused"
MODE = PREFIX + "mode"
"""Asks for check runs in place of real ones."""
PLACES = PRUNE_PLACES
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE)
"""RFC 3339."""
_SHOWN = 64


@dataclass(frozen=True, slots=True)
class Pause:
    """What the annotation PAUSED asks for; `text` is as it is written. Without `until` it lasts for ever."""

    text: str
    until: datetime | None = None

    @property
    def told(self) -> str:
        """Until when, for people."""
        if self.until is not None:
            return f"until {self.text}"
        return "until it is resumed" + (f" ({self.problem})" if self.problem else "")

    @property
    def problem(self) -> str:
        """What is wrong with the annotation, or ""; what nobody can read is a pause, which does no harm."""
        if self.until is not None or self.text == "true":
            return ""
        shown = shortened(self.text)
        return f"annotation {PAUSED}: {shown} is neither true nor false nor an RFC 3339 moment; taken for true"


def pause_of(text: str | None, now: datetime) -> Pause | None:
    """The pause that an annotation asks for; None where there is none, it is `false`, or its moment has passed."""
    if text is None or text == "false":
        return None
    until = moment_of(text)
    return None if until is not None and until <= now else Pause(text, until)


def moment_of(text: str) -> datetime | None:
    """None for what is no moment as RFC 3339 writes it."""
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC) if _MOMENT.fullmatch(text) else None
    except (ValueError, OverflowError):
        return None


def shortened(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN else repr(text[:_SHOWN]) + "..."


def asked(before: Mapping[str, str], after: Mapping[str, str], now: datetime) -> Trigger | None:
    """What the annotations ask for now, and did not before."""
    if RECONCILE in after and before.get(RECONCILE) != after[RECONCILE]:
        return Trigger.REQUESTED
    paused = pause_of(before.get(PAUSED), now), pause_of(after.get(PAUSED), now)
    steered = paused[0] != paused[1] or before.get(MODE) != after.get(MODE)
    return Trigger.ANNOTATED if steered else None


def paused(body: Body, moment: Moment, pause: Pause) -> Status:
    """Nothing is run until then. All other conditions stay as they are."""
    current = status_of(body)
    conditions = conditions_of(current)
    message = f"Paused since {paused_since(body) or moment.stamp}, {pause.told}"
    wanted = {"type": status.PAUSED, "status": "True", "reason": "Paused", "message": message}
    status.put(conditions, moment, wanted, always=True)
    return {**current, "conditions": conditions}


def paused_since(body: Body) -> str:
    """Since when the status says so; empty where it does not."""
    found = find(conditions_of(status_of(body)), status.PAUSED)
    if found is None or found.get("status") != "True":
        return ""
    since = found.get("lastTransitionTime")
    return since if status.is_time(since) else "an unknown time"
