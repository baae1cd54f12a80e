"""Lists whose items have rules are bounded, so that the API server can bound what the rules cost."""

from __future__ import annotations

from typing import Any

from runner.generate.crd.schema import limit_lists

RULE = {"x-kubernetes-validations": [{"rule": "true"}]}


def in_lists(schema: dict[str, Any], lists: int) -> dict[str, Any]:
    for _ in range(lists):
        schema = {"type": "array", "items": {"type": "object", "properties": {"inner": schema}}}
    return schema


def limits(schema: Any) -> list[int]:
    """The `maxItems` in a schema, from the outermost."""
    if not isinstance(schema, dict):
        return []
    own = [schema["maxItems"]] if "maxItems" in schema else []
    return own + [limit for inner in schema.values() for limit in limits(inner)]


def test_a_list_without_rules_is_as_long_as_anybody_likes() -> None:
    limit_lists(schema := in_lists({"type": "string"}, 2))
    assert limits(schema) == []


def test_a_list_of_items_with_rules_is_bounded() -> None:
    limit_lists(schema := in_lists(dict(RULE), 1))
    assert limits(schema) == [10_000]


def test_lists_in_lists_share_the_bound() -> None:
    limit_lists(schema := in_lists(dict(RULE), 3))
    assert limits(schema) == [21, 21, 21]


def test_a_list_beside_others_has_its_own_bound() -> None:
    limit_lists(schema := {"properties": {"deep": in_lists(dict(RULE), 2), "flat": in_lists(dict(RULE), 1)}})
    assert limits(schema) == [100, 100, 10_000]
