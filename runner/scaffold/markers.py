"""Marked places: comments of a file above which entries are put. Everything else in it is left as it is."""

from __future__ import annotations

import re

PREFIX = "# +ansible-operator:"


def marker(place: str) -> str:
    """The comment that marks a place."""
    return PREFIX + place


def has(text: str, place: str) -> bool:
    return _line(place).search(text) is not None


def insert(text: str, place: str, entry: str) -> str:
    """`text` with `entry` above the marked place, indented as the mark is; unchanged if the entry is there.

    Raises ValueError where the place is not marked.
    """
    found = _line(place).search(text)
    if found is None:
        raise ValueError(place)
    indented = "".join(f"{found[1]}{line}".rstrip() + "\n" for line in entry.splitlines())
    if re.search(rf"^{re.escape(indented)}", text, re.MULTILINE):
        return text
    return text[: found.start()] + indented + text[found.start() :]


def _line(place: str) -> re.Pattern[str]:
    return re.compile(rf"^([ ]*){re.escape(marker(place))}[ ]*$", re.MULTILINE)
