"""What is wrong with a JMESPath expression of `status:`, told before any run needs it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

SOURCES = ("stats", "data")
"""The keys of what the expressions are evaluated on."""

_ON_EVERY_CHILD = {
    *("multi_select_list", "multi_select_dict", "key_val_pair", "function_expression"),
    *("or_expression", "and_expression", "not_expression", "comparator"),
}
_ON_NO_CHILD = {"literal", "current", "identity", "expref"}


def syntax_error(expression: str) -> str:
    """Why the expression cannot be compiled, or ""."""
    try:
        jmespath.compile(expression)
    except JMESPathError as error:
        return str(error).strip().splitlines()[0]
    return ""


def foreign_keys(expression: str) -> list[str]:
    """The first keys that the expression asks for and no run has; they are always null."""
    parsed: Mapping[str, Any] = jmespath.compile(expression).parsed
    return sorted({key for key in _first_keys(parsed) if key not in SOURCES})


def _first_keys(node: Mapping[str, Any]) -> Iterator[str]:
    """The keys looked up in the source itself; the rest is looked up in what its left side yields."""
    if node["type"] == "field":
        yield node["value"]
    elif node["type"] not in _ON_NO_CHILD:
        children = node["children"] if node["type"] in _ON_EVERY_CHILD else node["children"][:1]
        for child in children:
            yield from _first_keys(child)
