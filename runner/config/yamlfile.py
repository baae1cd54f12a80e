"""YAML that knows where it stands: nodes with their lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

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
VAULT = "$ANSIBLE_VAULT;"
"""How a file begins that ansible-vault has encrypted."""
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


def problem_in(path: Path, file: str) -> Problem | None:
    """Why a file is no YAML; `file` is its name for people. One that is gone, or encrypted, is fine."""
    try:
        text = path.read_text(encoding="utf-8")
        if not text.startswith(VAULT):
            read_all_yaml(text, file)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        return Problem(file, 1, "", f"cannot be read: {error}", UNREADABLE)
    except WatchesError as error:
        return error.problems[0]
    return None


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
