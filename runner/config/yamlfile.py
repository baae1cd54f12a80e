"""YAML that knows where it stands: nodes with their lines, and the fields of a map with every mistake noted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from runner.config.golang import parse_duration
from runner.errors import Problem, WatchesError

_BOOLEANS = {
    word: value
    for value, words in ((True, ("y", "yes", "true", "on")), (False, ("n", "no", "false", "off")))
    for lower in words
    for word in (lower, lower.capitalize(), lower.upper())
}
_NULLS = {"", "~", "null", "Null", "NULL"}
_INTEGER = re.compile(r"[-+]?(?:0x[0-9a-fA-F_]+|0b[01_]+|0o[0-7_]+|[0-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MERGE = "tag:yaml.org,2002:merge"
_STRING = "tag:yaml.org,2002:str"
_UNSAFE = "!unsafe"

_RESOLVER: Any = yaml.resolver.Resolver()  # a string that it would not call one was tagged `!!str`

_FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C, where PyYAML was built with it."""
UNREADABLE = "yaml-unreadable"
"""The rule of `validate` that such a file breaks."""

Scalar = str | int | float | bool | None


class Verbatim(str):
    """A text that was tagged `!unsafe`: Ansible looks for no Jinja in it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Located:
    """A YAML value and the line, counted from 1, where it begins. Maps and lists hold Located values."""

    value: Scalar | dict[str, Located] | list[Located]
    line: int

    def plain(self) -> Any:  # noqa: ANN401  (any JSON value)
        """The value without its lines."""
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        return self.value


def read_yaml(text: str, file: str) -> Located:
    """The first document of `text`; raises WatchesError with the line of a syntax error."""
    return next(_documents(text, file), Located(None, 1))


def read_all_yaml(text: str, file: str) -> list[Located]:
    """Every document of `text`, tags left aside; raises WatchesError with the line of a syntax error."""
    return list(_documents(text, file))


def duplicate_keys(text: str, file: str) -> Iterator[Problem]:
    """The keys that a map of `text` has twice, of which YAML keeps the last; `text` must be YAML."""
    for document in yaml.compose_all(text, Loader=_FAST):
        for key in _keys_again(document):
            message = f"the map has the key {key.value} twice: the one before is lost; remove one"
            yield Problem(file, key.start_mark.line + 1, "", message, "yaml-key-twice")


def _keys_again(node: yaml.Node | None) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if key.value in seen:
                    yield key
                seen.add(key.value)
            yield from _keys_again(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _keys_again(item)


def _documents(text: str, file: str) -> Iterator[Located]:
    try:
        loader = yaml.SafeLoader(text)
        try:
            while loader.check_node() and (node := loader.get_node()) is not None:
                yield _located(node, loader.flatten_mapping)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise WatchesError(
            [Problem(file, line, "", f"not YAML: {error.problem or error.context}", UNREADABLE)]
        ) from error
    except yaml.YAMLError as error:
        raise WatchesError([Problem(file, 1, "", f"not YAML: {error}", UNREADABLE)]) from error
    except RecursionError as error:
        raise WatchesError(
            [Problem(file, 1, "", "an alias contains itself, or nesting is too deep", UNREADABLE)]
        ) from error


def _located(node: yaml.Node, flatten: Callable[[yaml.MappingNode], None]) -> Located:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        if any(key.tag == _MERGE for key, _ in node.value):
            flatten(node)
        return Located({_key(key): _located(value, flatten) for key, value in node.value}, line)
    if isinstance(node, yaml.SequenceNode):
        return Located([_located(item, flatten) for item in node.value], line)
    if node.tag == _UNSAFE:
        return Located(Verbatim(node.value), line)
    return Located(_scalar(node), line)


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise yaml.MarkedYAMLError(
            problem="a key is a map or a list (quote {{ … }})", problem_mark=node.start_mark
        )
    value = _scalar(node)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _scalar(node: yaml.Node) -> Scalar:
    text = str(node.value)
    quoted = isinstance(node, yaml.ScalarNode) and node.style in ("'", '"', "|", ">")
    if quoted or (node.tag == _STRING and _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) != _STRING):
        return text
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    return _number(text)


def _number(text: str) -> Scalar:
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return text


def _integer(text: str) -> int | float | str:
    digits = text.replace("_", "")
    sign, digits = (-1 if digits.startswith("-") else 1), digits.lstrip("+-")
    try:
        if re.fullmatch(r"0[0-7]+", digits):
            number = sign * int(digits, 8)
        else:
            number = sign * int(digits, 0 if digits.startswith(("0x", "0b", "0o")) else 10)
    except ValueError:
        return text
    return number if -(2**63) <= number < 2**64 else float(number)


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

    def unknown(self) -> Iterator[tuple[str, int]]:
        """The fields nobody asked for, with their lines."""
        for lower, (written, node) in self._items.items():
            if lower not in self._asked:
                yield written, node.line

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
