"""Finds members and items in JSON text without decoding them. Nothing here recurses, so no depth is too much.

Only the structure is read: whoever decodes a span learns whether its text is JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

# A group that is repeated possessively fails at its first byte or not at all: Python before 3.11.5 does not go
# back from a later one.
_QUOTED = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PLAIN = rb'[^"{}\[\]]*+(?:' + _QUOTED + rb'[^"{}\[\]]*+)*+'
_INNERMOST = re.compile(rb"[{\[]" + _PLAIN + rb"[}\]]", re.DOTALL)
_TO_BRACKET = re.compile(_PLAIN + rb"(?:" + _INNERMOST.pattern + _PLAIN + rb"){0,500}", re.DOTALL)
"""Up to a bracket of a value that has others in it. Those without are passed over at once, but not more than 500:
each takes memory until the match ends."""
_STRING = re.compile(_QUOTED, re.DOTALL)
_SCALAR = re.compile(rb"[^\s,:{}\[\]\"]++")
_SPACE = re.compile(rb"[ \t\r\n]*+")


Text = bytes | bytearray


class Span(NamedTuple):
    """Where one value stands in a text; `depth` is that of its brackets, or, of `{}`, one more."""

    start: int
    end: int
    depth: int


def value_at(text: Text, start: int) -> Span:
    """The value that begins after white space at `start`. Raises ValueError."""
    start = _after_space(text, start)
    if text[start : start + 1] not in (b"{", b"["):
        match = (_STRING if text[start : start + 1] == b'"' else _SCALAR).match(text, start)
        if match is None:
            raise ValueError(f"no JSON value at byte {start}")
        return Span(start, match.end(), 0)
    depth = deepest = 1
    position = start + 1
    while match := _TO_BRACKET.match(text, position):
        position = match.end()
        if inner := _INNERMOST.match(text, position):
            position = inner.end()
            continue
        mark = text[position : position + 1]
        position += 1
        if mark in (b"{", b"["):
            depth += 1
            deepest = max(deepest, depth)
        elif mark not in (b"}", b"]"):
            break
        elif depth == 1:
            return Span(start, position, deepest + 1)
        else:
            depth -= 1
    raise ValueError(f"the JSON value at byte {start} has no end")


def items(text: Text, start: int) -> Iterator[Span]:
    """The items of the array that begins at `start`. Raises ValueError, also while iterating."""
    position, empty = _opened(text, start, b"[", b"]")
    while not empty:
        item = value_at(text, position)
        yield item
        position, empty = _next(text, item.end, b"]")


def members(text: Text, start: int) -> Iterator[tuple[str, int]]:
    """Names of the object that begins at `start`, and where their values begin.

    A value is read only if another member is asked for. Raises ValueError, also while iterating.
    """
    position, empty = _opened(text, start, b"{", b"}")
    while not empty:
        name = value_at(text, position)
        colon = _after_space(text, name.end)
        if text[name.start : name.start + 1] != b'"' or text[colon : colon + 1] != b":":
            raise ValueError(f"no JSON member at byte {name.start}")
        value = _after_space(text, colon + 1)
        yield str(json.loads(text[name.start : name.end])), value
        position, empty = _next(text, value_at(text, value).end, b"}")


def find(text: Text, start: int, *path: str) -> int | None:
    """The beginning of the value below members of these names; None if there is none. Raises ValueError."""
    position = _after_space(text, start)
    for name in path:
        if text[position : position + 1] != b"{":
            return None
        inner = next((value for member, value in members(text, position) if member == name), None)
        if inner is None:
            return None
        position = inner
    return position


def decoded(text: Text, start: int | None) -> Any:  # noqa: ANN401  (what JSON decodes to)
    """The value that begins there; None if that is nowhere. Raises ValueError and RecursionError."""
    if start is None:
        return None
    span = value_at(text, start)
    return json.loads(text[span.start : span.end])


def _opened(text: Text, start: int, opening: bytes, closing: bytes) -> tuple[int, bool]:
    start = _after_space(text, start)
    if text[start : start + 1] != opening:
        raise ValueError(f"no {opening.decode()} at byte {start}")
    position = _after_space(text, start + 1)
    return position, text[position : position + 1] == closing


def _next(text: Text, end: int, closing: bytes) -> tuple[int, bool]:
    """The position after the separator at `end`, and whether that closed the array or object."""
    position = _after_space(text, end)
    mark = text[position : position + 1]
    if mark not in (b",", closing):
        raise ValueError(f"no , or {closing.decode()} at byte {position}")
    return position + 1, mark == closing


def _after_space(text: Text, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position
