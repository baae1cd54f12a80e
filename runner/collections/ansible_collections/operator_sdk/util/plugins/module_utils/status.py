"""What a custom resource's status is to become: plain functions over plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
_FIELDS = ("type", "status", "reason", "message", "lastHeartbeatTime", "lastTransitionTime")
_TIMES = ("lastHeartbeatTime", "lastTransitionTime")
_STATUSES = ("True", "False", "Unknown")
_WORD = re.compile("[A-Za-z]+")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2})?(\.\d+)?([Zz]|[+-]\d{2}:\d{2})")


def validated(conditions: list[Json]) -> list[Json]:
    """The conditions without what was not given, their statuses as text. Raises ValueError."""
    return [_validated(condition) for condition in conditions]


def _validated(given: Json) -> Json:
    condition = {name: value for name, value in given.items() if value is not None}
    if isinstance(condition.get("status"), bool):
        condition["status"] = str(condition["status"])
    unknown = sorted(set(condition) - set(_FIELDS))
    if unknown:
        raise ValueError("'{}' is no field of a condition; those are {}".format(unknown[0], ", ".join(_FIELDS)))
    for name in ("type", "status"):
        if not condition.get(name):
            raise ValueError(f"Condition '{name}' must be set")
    if condition["status"] not in _STATUSES:
        raise ValueError("Condition 'status' must be one of {}".format(", ".join(_STATUSES)))
    if condition.get("reason") and not _WORD.fullmatch(str(condition["reason"])):
        raise ValueError("Condition 'reason' must be a single, CamelCase word")
    for name in _TIMES:
        if condition.get(name) and not _TIME.fullmatch(str(condition[name])):
            raise ValueError(f"'{name}' must be an RFC3339 compliant datetime string")
    return condition


def merged(old: Any, new: Json, *, replace_lists: bool) -> Json | None:  # noqa: ANN401  (as it is stored)
    """The status to merge into `old`, its conditions complete; None when `old` contains it already."""
    old = old if isinstance(old, dict) else {}
    new = dict(new)
    if isinstance(new.get("conditions"), list):
        new["conditions"] = _merged_conditions(old.get("conditions"), new["conditions"])
    return None if _contained(new, old, replace_lists) else new


def _merged_conditions(old: Any, new: list[Any]) -> list[Any]:  # noqa: ANN401  (as it is stored)
    """By type: one that differs is replaced as a whole, one that is new is appended, the rest stays."""
    conditions = list(old) if isinstance(old, list) else []
    for condition in new:
        same = [place for place, known in enumerate(conditions) if _type(known) == _type(condition)]
        if not same or _type(condition) is None:
            conditions.append(condition)
        elif _differs(condition, conditions[same[0]]):
            conditions[same[0]] = condition
    return conditions


def _type(condition: Any) -> Any:  # noqa: ANN401  (as it is stored)
    return condition.get("type") if isinstance(condition, dict) else None


def _differs(new: Json, old: Json) -> bool:
    """A time of transition alone makes no difference, or each run would write."""
    return any(old.get(name) != value for name, value in new.items() if name != "lastTransitionTime")


def _contained(new: Any, old: Any, whole_lists: bool) -> bool:  # noqa: ANN401  (any JSON value)
    """Whether merging `new` into `old` is needless. An absent key is as good as null, which deletes it."""
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        return all(
            _contained(value, old.get(name), whole_lists and name != "conditions") for name, value in new.items()
        )
    if isinstance(new, list) and isinstance(old, list) and not whole_lists:
        return all(item in old for item in new)
    return bool(new == old) and isinstance(new, bool) == isinstance(old, bool)
