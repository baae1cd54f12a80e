"""What is observed of a run, as plain data, and what makes two observations different."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

_WIDTH = 400
_BEFORE = 40
_MOST = 60


@dataclass(frozen=True, slots=True)
class Observation:
    """A run, normalised. `error` is set instead of an outcome when the executor refused to start it.

    `artifacts` and `files` map paths to what is there; `cluster` holds the objects of the run's namespace.
    """

    outcome: Mapping[str, Any]
    events: Sequence[Any]
    artifacts: Mapping[str, Any]
    files: Mapping[str, Any]
    cluster: Sequence[Any] = ()
    error: str = ""
    served: str | None = field(default=None, compare=False)


def difference(one: Observation, other: Observation) -> list[str]:
    """Each difference in a line, or in a few; none means that nobody can tell the two runs apart."""
    left, right = asdict(one), asdict(other)
    del left["served"], right["served"]
    found = list(_differences("", left, right))
    more = len(found) - _MOST
    return found[:_MOST] + ([f"... and {more} more"] if more > 0 else [])


def _differences(where: str, one: Any, other: Any) -> Iterator[str]:
    if type(one) is not type(other):
        yield f"{where}: {_short(one)} | {_short(other)}"
    elif isinstance(one, Mapping):
        yield from _of_mappings(where, one, other)
    elif isinstance(one, list | tuple):
        yield from _of_lists(where, one, other)
    elif isinstance(one, str) and one != other and ("\n" in one or "\n" in other):
        yield from _of_texts(where, one.split("\n"), other.split("\n"))
    elif one != other:
        yield f"{where}: {_short(one)} | {_short(other)}"


def _of_mappings(where: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted({*one, *other}):
        place = f"{where}/{key}"
        if key not in other:
            yield f"{place}: only in the first: {_short(one[key])}"
        elif key not in one:
            yield f"{place}: only in the second: {_short(other[key])}"
        else:
            yield from _differences(place, one[key], other[key])


def _of_lists(where: str, one: Sequence[Any], other: Sequence[Any]) -> Iterator[str]:
    """Item by item; where one is longer, the items that are only in one."""
    if len(one) == len(other):
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differences(f"{where}[{place}]", left, right)
    else:
        yield f"{where}: {len(one)} items | {len(other)} items"
        yield from _of_texts(where, [*map(_line, one)], [*map(_line, other)])


def _of_texts(where: str, one: Sequence[str], other: Sequence[str]) -> Iterator[str]:
    for kind, begin, end, other_begin, other_end in difflib.SequenceMatcher(None, one, other).get_opcodes():
        if kind == "equal":
            continue
        left, right = one[begin:end], other[other_begin:other_end]
        cut = _where_they_differ(left[0], right[0]) if len(left) == len(right) == 1 else 0
        yield from (f"{where}: -{line[cut : cut + _WIDTH]}" for line in left)
        yield from (f"{where}: +{line[cut : cut + _WIDTH]}" for line in right)


def _where_they_differ(one: str, other: str) -> int:
    """Some characters before that."""
    pairs = enumerate(zip(one, other, strict=False))
    same = next((place for place, (left, right) in pairs if left != right), len(one))
    return max(0, same - _BEFORE)


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _short(value: Any) -> str:
    text = _line(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}... ({len(text)} characters)"
