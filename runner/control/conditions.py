"""The three conditions that the operator owns in a custom resource's status. Pure.

Everybody else's conditions pass through untouched, with every key they carry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from runner.objects import Body

RUNNING = "Running"
SUCCESSFUL = "Successful"
FAILURE = "Failure"

Condition = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Moment:
    """When a status is decided, and for which generation of the object (0: the kind has none)."""

    now: datetime
    generation: int

    @property
    def stamp(self) -> str:
        return self.now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_of(body: Body) -> dict[str, Any]:
    """A copy of the object's status; empty where it is not a map."""
    status = body.get("status")
    return dict(status) if isinstance(status, Mapping) else {}


def conditions_of(status: Mapping[str, Any]) -> list[Condition]:
    """Copies of the conditions that are maps; none where the field is not a list."""
    items = status.get("conditions")
    return [dict(item) for item in items if isinstance(item, Mapping)] if isinstance(items, Sequence) else []


def find(conditions: Sequence[Condition], kind: str) -> Condition | None:
    return next((item for item in conditions if item.get("type") == kind), None)


def put(conditions: list[Condition], moment: Moment, wanted: Condition, *, always: bool = False) -> None:
    """Set the condition of `wanted`'s type: in its place, or at the end.

    One with the same status and reason is left alone but for its generation, unless `always`.
    """
    old = find(conditions, wanted["type"])
    if old is None:
        conditions.append(_built(None, moment, wanted))
    elif not always and (old.get("status"), old.get("reason")) == (wanted["status"], wanted["reason"]):
        _observe(old, moment)
    else:
        new = _built(old, moment, wanted)
        old.clear()
        old.update(new)


def unset(conditions: list[Condition], moment: Moment, kind: str) -> None:
    """Make the condition's status False, if there is one, and keep the rest of it."""
    old = find(conditions, kind)
    if old is None:
        return
    if old.get("status") != "False":
        old["status"] = "False"
        old["lastTransitionTime"] = moment.stamp
    _observe(old, moment)


def _built(old: Condition | None, moment: Moment, wanted: Condition) -> Condition:
    flipped = old is None or old.get("status") != wanted["status"]
    since = None if flipped or old is None else old.get("lastTransitionTime")
    new = {
        "type": wanted["type"],
        "status": wanted["status"],
        "lastTransitionTime": since if _is_time(since) else moment.stamp,
        "reason": wanted["reason"],
        "message": wanted["message"],
    }
    if "ansibleResult" in wanted:
        new["ansibleResult"] = wanted["ansibleResult"]
    _observe(new, moment)
    return new


def _observe(condition: Condition, moment: Moment) -> None:
    if moment.generation:
        condition["observedGeneration"] = moment.generation


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value) is not None
    except ValueError:
        return False
