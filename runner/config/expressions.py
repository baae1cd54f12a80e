"""JMESPath, in which watches.yaml says what of a result or an object counts: compiled, searched through, used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult

from runner.errors import ExpressionError

SOURCES = ("stats", "data", "facts", "children")
"""The keys of what the expressions are evaluated on."""
_ON_EVERY_CHILD = {
    *("multi_select_list", "multi_select_dict", "key_val_pair", "function_expression"),
    *("or_expression", "and_expression", "not_expression", "comparator"),
}
_ON_NO_CHILD = {"literal", "expref"}
_WHOLE = "@"
"""In place of a key: the whole of the source is used."""


@lru_cache(maxsize=512)
def compiled(expression: str) -> ParsedResult:
    """Raises JMESPathError."""
    return jmespath.compile(expression)


def search(expression: str, source: object) -> Any:  # noqa: ANN401  (any JSON value)
    """What the expression yields. Raises ExpressionError."""
    try:
        return compiled(expression).search(source)
    except JMESPathError as error:
        raise ExpressionError(f"cannot evaluate {expression!r}: {error}") from error


def syntax_error(expression: str) -> str:
    """Why the expression cannot be compiled, or ""."""
    try:
        compiled(expression)
    except JMESPathError as error:
        line = _first_line(error)
        return f"{line} {expression}" if line.endswith(":") else line  # the expression is on the next one
    return ""


def foreign_keys(expression: str) -> list[str]:
    """The first keys that the expression asks for and no run has; they are always null."""
    parsed: Mapping[str, Any] = compiled(expression).parsed
    return sorted({key for key in _first_keys(parsed) if key not in (*SOURCES, _WHOLE)})


def uses_children(expression: str) -> bool:
    """Whether what the expression yields may depend on the objects of the run's own."""
    return not {"children", _WHOLE}.isdisjoint(_first_keys(compiled(expression).parsed))


def asked_data(expression: str) -> set[str]:
    """The names of published data that the expression asks for by name."""
    return {name for source, name in _first_pairs(compiled(expression).parsed) if source == "data"}


def asked_kinds(expression: str) -> set[str]:
    """The kinds of the run's objects that the expression picks, as in `children[?kind=='Deployment']`."""
    return set(_compared_kinds(compiled(expression).parsed))


def _compared_kinds(node: Mapping[str, Any]) -> Iterator[str]:
    children = node["children"]
    if node["type"] == "comparator" and node["value"] == "eq":
        fields = [child["value"] for child in children if child["type"] == "field"]
        texts = [child["value"] for child in children if child["type"] == "literal"]
        if fields == ["kind"] and texts and isinstance(texts[0], str):
            yield texts[0]
    for child in children:
        yield from _compared_kinds(child)


def _first_pairs(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """As `_first_keys`, each with the keys that are looked up in it; none where that is not by name."""
    children = node["children"]
    if node["type"] == "subexpression" and children[0]["type"] == "field":
        yield from ((children[0]["value"], key) for key in _first_keys(children[1]) if key != _WHOLE)
    elif node["type"] not in _ON_NO_CHILD:
        for child in children if node["type"] in _ON_EVERY_CHILD else children[:1]:
            yield from _first_pairs(child)


def only_children(expression: str) -> bool:
    """Whether the expression asks for the objects of the run's own, and for nothing else."""
    return set(_first_keys(compiled(expression).parsed)) == {"children"}


def _first_keys(node: Mapping[str, Any]) -> Iterator[str]:
    """The keys looked up in the source itself; the rest is looked up in what its left side yields."""
    if node["type"] == "field":
        yield node["value"]
    elif node["type"] in ("current", "identity"):
        yield _WHOLE
    elif node["type"] not in _ON_NO_CHILD:
        children = node["children"] if node["type"] in _ON_EVERY_CHILD else node["children"][:1]
        for child in children:
            yield from _first_keys(child)


def _first_line(error: JMESPathError) -> str:
    return str(error).strip().splitlines()[0]
