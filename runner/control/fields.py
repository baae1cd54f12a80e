"""Status fields that a watch maps from a run's result with JMESPath expressions. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from runner.execute.run import Outcome
from runner.objects import LEVELS, nested_deeper

Fields = tuple[tuple[str, Any], ...]
"""(path, value) pairs; dots in a path go down into nested maps."""

_DEEPEST = LEVELS // 2
"""Levels of one value: the status must not make its object too deep to be read again."""


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
            value = jmespath.search(expression, source)
        except JMESPathError as error:
            warnings.append(f"status.{path}: cannot evaluate {expression!r}: {error}")
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
