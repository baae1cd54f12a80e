"""The fields of one map in a YAML file, each asked for by name and type, with every mistake noted."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.config.golang import parse_duration
from runner.config.yamlfile import Located
from runner.errors import Problem


class Mistakes:
    """The problems found in one file so far; `fatal` ones keep the operator from starting."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.fatal: list[Problem] = []
        self.harmless: list[Problem] = []

    def add(self, line: int, field: str, message: str, rule: str = "watch-invalid") -> None:
        self.fatal.append(Problem(self.file, line, field, message, rule))

    def note(self, line: int, field: str, message: str, rule: str) -> None:
        self.harmless.append(Problem(self.file, line, field, message, rule))


class Fields:
    """The fields of one map. Names match in any case; a value of the wrong type is noted and its default used."""

    def __init__(self, node: Located, path: str, mistakes: Mistakes) -> None:
        self.line = node.line
        self.path = path
        self._mistakes = mistakes
        self._asked: set[str] = set()
        self._items: dict[str, tuple[str, Located]] = {}
        if isinstance(node.value, dict):
            self._items = {name.lower(): (name, item) for name, item in node.value.items()}
        elif node.value is not None:
            mistakes.add(node.line, path, f"must be a map, is {_what(node)}")

    def text(self, name: str) -> str:
        """A string; other scalars are taken as their YAML text, as Go does: `version: 1` is "1"."""
        node = self._get(name)
        if node is None or isinstance(node.value, str):
            return node.value if node is not None and isinstance(node.value, str) else ""
        if isinstance(node.value, bool):
            return "true" if node.value else "false"
        if isinstance(node.value, int | float):
            return str(node.value)
        self._wrong(name, node, "a string")
        return ""

    def flag(self, name: str, default: bool) -> bool:
        node = self._get(name)
        if node is None or isinstance(node.value, bool):
            return default if node is None else bool(node.value)
        self._wrong(name, node, "true or false, unquoted")
        return default

    def is_flag(self, name: str) -> bool:
        """Whether it is true or false, of a field that may be something else."""
        node = self._get(name)
        return node is not None and isinstance(node.value, bool)

    def number(self, name: str, default: int) -> int:
        node = self._get(name)
        if node is None or (isinstance(node.value, int) and not isinstance(node.value, bool)):
            return default if node is None else int(str(node.value))
        self._wrong(name, node, "a whole number, unquoted")
        return default

    def seconds(self, name: str) -> float | None:
        """A duration string, in seconds; None where absent or null."""
        node = self._get(name)
        if node is None:
            return None
        if not isinstance(node.value, str):
            self._wrong(name, node, 'a duration string such as "1h30m" or "10s"')
            return None
        try:
            return parse_duration(node.value)
        except ValueError as error:
            self.problem(name, f'{error}; write a duration such as "1h30m" or "10s"')
            return None

    def plain_map(self, name: str) -> dict[str, Any]:
        node = self._get(name)
        if node is None or isinstance(node.value, dict):
            return {} if node is None else dict(node.plain())
        self._wrong(name, node, "a map")
        return {}

    def text_map(self, name: str) -> dict[str, str]:
        inner = self.inner(name)
        return {key: inner.text(key) for key in inner.names()} if inner else {}

    def inner(self, name: str) -> Fields | None:
        node = self._get(name)
        return None if node is None else Fields(node, self.at(name), self._mistakes)

    def items(self, name: str) -> Iterator[Fields]:
        for index, node in enumerate(self._list(name)):
            yield Fields(node, f"{self.at(name)}[{index}]", self._mistakes)

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(str(node.plain()) for node in self._list(name))

    def names(self) -> list[str]:
        """The names as they are written."""
        return [written for written, _ in self._items.values()]

    def at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def problem(self, name: str, message: str, rule: str = "watch-invalid") -> None:
        """Add a mistake in the field `name` (or, when that is empty, in the map itself)."""
        self._mistakes.add(self._line(name), self.at(name) if name else self.path, message, rule)

    def note(self, name: str, message: str, rule: str) -> None:
        """Add a harmless mistake in the field `name`."""
        self._mistakes.note(self._line(name), self.at(name), message, rule)

    def note_unknown(self, known: Sequence[str], elsewhere: Mapping[str, str] | None = None) -> None:
        """Note the fields nobody asked for, with what may be meant: `elsewhere` says it, or one of `known`."""
        for lower, (written, node) in self._items.items():
            if lower in self._asked:
                continue
            close = difflib.get_close_matches(written, known, 1)
            hint = f"did you mean {close[0]}?" if close else "known are " + ", ".join(known)
            hint, rule = (elsewhere or {}).get(lower, hint), "watch-unknown-field"
            self._mistakes.note(node.line, self.at(written), f"unknown field, ignored; {hint}", rule)

    def _line(self, name: str) -> int:
        _, node = self._items.get(name.lower(), ("", None))
        return node.line if node else self.line

    def _get(self, name: str) -> Located | None:
        self._asked.add(name.lower())
        _, node = self._items.get(name.lower(), ("", None))
        return node if node is not None and node.value is not None else None

    def _list(self, name: str) -> list[Located]:
        node = self._get(name)
        if node is None or isinstance(node.value, list):
            return [] if node is None or not isinstance(node.value, list) else node.value
        self._wrong(name, node, "a list")
        return []

    def _wrong(self, name: str, node: Located, wanted: str) -> None:
        self._mistakes.add(node.line, self.at(name), f"must be {wanted}, is {_what(node)}")


def _what(node: Located) -> str:
    if isinstance(node.value, dict):
        return "a map"
    if isinstance(node.value, list):
        return "a list"
    return f"{type(node.value).__name__} {node.value!r}" if node.value is not None else "null"
