"""What a custom resource's status becomes: our conditions, and the fields that a watch maps. Pure.

Everybody else's conditions pass through untouched, with every key they carry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, TypeGuard

from runner.config.expressions import search
from runner.errors import ExpressionError
from runner.execute.outcome import Outcome, Stats
from runner.objects import LEVELS, Body, nested_deeper

RUNNING = "Running"
SUCCESSFUL = "Successful"
FAILURE = "Failure"
PAUSED = "Paused"
DRIFTED = "Drifted"

Condition = dict[str, Any]


Fields = tuple[tuple[str, Any], ...]
"""(path, value) pairs; dots in a path go down into nested maps."""
_DEEPEST = LEVELS // 2
"""Levels of one value: the status must not make its object too deep to be read again."""
Status = dict[str, Any]
INTERRUPTED = "Interrupted"
STARTED = "Running reconciliation"
IN_SYNC, NOTHING_WOULD_CHANGE = "InSync", "A run would change nothing"
"""Reason and message of a condition Drifted that is False."""
PROGRESS = "Running for "
"""How the message of a run that takes long begins."""


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
        "lastTransitionTime": since if is_time(since) else moment.stamp,
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


def is_time(value: object) -> TypeGuard[str]:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value) is not None
    except ValueError:
        return False


def mapped(expressions: Mapping[str, str], outcome: Outcome) -> tuple[Fields, tuple[str, ...]]:
    """The values to set in the status, and a warning for each expression that cannot be used.

    Expressions see `stats` (the recap's counters, null without recap), `data` (what set_stats published), `facts`
    (what set_fact set) and `children` (objects of its own that the run wrote or read).
    One that yields null leaves its field alone; none ever fails the run.
    """
    if not expressions:
        return (), ()
    source = {
        "stats": asdict(outcome.stats) if outcome.stats else None,
        "data": dict(outcome.data),
        "facts": dict(outcome.facts),
        "children": list(outcome.children),
    }
    fields, warnings = [], []
    for path, expression in expressions.items():
        if path.split(".")[0] == "conditions":
            warnings.append(f"status.{path}: the operator writes the conditions itself; map another field")
            continue
        try:
            value = search(expression, source)
        except ExpressionError as error:
            warnings.append(f"status.{path}: {error}")
            continue
        if nested_deeper(value, _DEEPEST):
            warnings.append(f"status.{path}: what {expression!r} gives is nested deeper than {_DEEPEST} levels")
        elif value is not None:
            fields.append((path, value))
    return tuple(fields), tuple(warnings)


def merged(status: Mapping[str, Any], fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A copy of `status` with the fields set; what stands in the way of a nested path is replaced by a map."""
    result = dict(status)
    for path, value in fields:
        *parents, last = path.split(".")
        place = result
        for parent in parents:
            inner = place.get(parent)
            place[parent] = place = dict(inner) if isinstance(inner, Mapping) else {}
        place[last] = value
    return result


def without(fields: Fields, refused: Sequence[str]) -> Fields:
    """The fields without those that the API server found fault with; none where it names none of them."""
    paths = [_steps(path.removeprefix("status.")) for path in refused if path.startswith("status.")]
    kept = tuple(field for field in fields if not any(_meet(_steps(field[0]), path) for path in paths))
    return kept if len(kept) < len(fields) else ()


def _steps(path: str) -> list[str]:
    return re.split(r"[.\[]", path)


def _meet(one: list[str], other: list[str]) -> bool:
    """Whether one of the paths leads to the other."""
    return all(a == b for a, b in zip(one, other, strict=False))


def running(body: Body, moment: Moment) -> Status:
    """A run starts. Failure stays as it is: it is True until the next success."""
    status = status_of(body)
    conditions = conditions_of(status)
    _resume(conditions, moment)
    _forget_progress(conditions)
    put(conditions, moment, _condition(RUNNING, "True", "Running", STARTED))
    unset(conditions, moment, SUCCESSFUL)
    return {**status, "conditions": conditions}


def running_still(body: Body, moment: Moment, progress: str) -> Status:
    """How far the run is, where the object says that there is one."""
    status = status_of(body)
    conditions = conditions_of(status)
    if _is_running(find(conditions, RUNNING)):
        put(conditions, moment, _condition(RUNNING, "True", "Running", progress), always=True)
        return {**status, "conditions": conditions}
    return status


def _is_running(condition: Condition | None) -> bool:
    return condition is not None and (condition.get("status"), condition.get("reason")) == ("True", "Running")


def _forget_progress(conditions: Sequence[Condition]) -> None:
    """How far a run was is nothing to keep when it has ended."""
    condition = find(conditions, RUNNING)
    if condition is not None and str(condition.get("message", "")).startswith(PROGRESS):
        condition["message"] = STARTED


def succeeded(body: Body, moment: Moment, stats: Stats | None, fields: Fields = ()) -> Status:
    status = merged(status_of(body), fields)
    conditions = conditions_of(status)
    awaiting = _condition(RUNNING, "True", "Successful", "Awaiting next reconciliation", stats)
    put(conditions, moment, awaiting)
    put(conditions, moment, _condition(SUCCESSFUL, "True", "Successful", "Last reconciliation succeeded"))
    put(conditions, moment, _condition(FAILURE, "False", "", ""), always=True)
    if find(conditions, DRIFTED) is not None:
        put(conditions, moment, _condition(DRIFTED, "False", IN_SYNC, NOTHING_WOULD_CHANGE))
    return {**status, "conditions": conditions}


def drifted(body: Body, moment: Moment, wanted: Condition) -> Status:
    """What a check run has found; no other condition is touched, but what is checked is no longer paused."""
    status = status_of(body)
    conditions = conditions_of(status)
    _resume(conditions, moment)
    put(conditions, moment, wanted, always=True)
    return {**status, "conditions": conditions}


def failed(body: Body, moment: Moment, message: str, stats: Stats | None, fields: Fields = ()) -> Status:
    status = merged(status_of(body), fields)
    conditions = conditions_of(status)
    _forget_progress(conditions)
    unset(conditions, moment, RUNNING)
    put(conditions, moment, _condition(SUCCESSFUL, "False", "", ""))
    put(conditions, moment, _condition(FAILURE, "True", "Failed", message, stats), always=True)
    return {**status, "conditions": conditions}


def refused(body: Body, moment: Moment, message: str) -> Status:
    """Nothing was run: the object asks for something impossible, or the run could not be started."""
    status = status_of(body)
    conditions = conditions_of(status)
    _resume(conditions, moment)
    _forget_progress(conditions)
    unset(conditions, moment, RUNNING)
    unset(conditions, moment, SUCCESSFUL)
    put(conditions, moment, _condition(FAILURE, "True", "Failed", message), always=True)
    return {**status, "conditions": conditions}


def _resume(conditions: list[Condition], moment: Moment) -> None:
    if find(conditions, PAUSED) is not None:
        put(conditions, moment, _condition(PAUSED, "False", "Resumed", "Resumed"))


def interrupted(body: Body, moment: Moment) -> Status:
    """The operator stopped during a run: that is no failure of the object, but nothing runs any more."""
    status = status_of(body)
    conditions = conditions_of(status)
    if not _is_running(find(conditions, RUNNING)):
        return status
    message = "The operator stopped during a run; it starts anew when the operator does"
    put(conditions, moment, _condition(RUNNING, "False", INTERRUPTED, message))
    return {**status, "conditions": conditions}


def failing_with(body: Body) -> str | None:
    """The message of the Failure condition while that is True."""
    failure = find(conditions_of(status_of(body)), FAILURE)
    return str(failure.get("message", "")) if failure and failure.get("status") == "True" else None


def _condition(kind: str, value: str, reason: str, message: str, stats: Stats | None = None) -> Condition:
    condition: Condition = {"type": kind, "status": value, "reason": reason, "message": message}
    if stats is not None:
        condition["ansibleResult"] = {
            "ok": stats.ok,
            "changed": stats.changed,
            "skipped": stats.skipped,
            "failures": stats.failures,
            "completion": stats.completion,
        }
    return condition
