"""How long lists may be whose items have rules. Pure.

The API server multiplies what a rule costs by the items that it could be asked of, and refuses a CRD whose rules
could cost too much. Lists in lists share what one list would have.
"""

from __future__ import annotations

from collections.abc import Iterator

from runner.generate.crd.values import Schema

RULES = "x-kubernetes-validations"
MOST = 10_000
"""Items that one rule may be asked of: with it, a rule between ten options costs a hundredth of what it may."""


def limit_lists(schema: Schema, above: int = 0) -> int:
    """Give each list whose items have rules its `maxItems`, in place; how many such lists are in each other below.

    `above` counts the lists that the schema is in.
    """
    is_list = "items" in schema and _has_rules(schema["items"])
    below = max((limit_lists(inner, above + is_list) for inner in _inner(schema)), default=0)
    if is_list:
        schema["maxItems"] = _root(MOST, above + 1 + below)
    return below + is_list


def _root(number: int, degree: int) -> int:
    """The whole part of a root, of what floats have a hair below."""
    return int(number ** (1 / degree) + 1e-9)


def _has_rules(schema: Schema) -> bool:
    return RULES in schema or any(map(_has_rules, _inner(schema)))


def _inner(schema: Schema) -> Iterator[Schema]:
    yield from schema.get("properties", {}).values()
    if "items" in schema:
        yield schema["items"]
