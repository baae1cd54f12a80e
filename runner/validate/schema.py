"""What the API server drops from, or refuses in, an object by its kind's schema. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

ITEM = "[]"
"""In a path: into the items of a list."""


def at(schema: Schema, path: Sequence[str]) -> Schema | None:
    """The schema at a path: empty where anything is kept, None where the value would be pruned."""
    if not path:
        return schema
    name, *rest = path
    inner = schema.get("items") if name == ITEM else (schema.get("properties") or {}).get(name)
    if isinstance(inner, Mapping):
        return at(inner, rest)
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        return at(additional, rest)
    return {} if additional is True or schema.get("x-kubernetes-preserve-unknown-fields") is True else None


def keeps(schema: Schema, path: Sequence[str]) -> bool:
    """Whether a value, and what it holds, survives."""
    found = at(schema, path)
    if found is None:
        return False
    holds_nothing = found.get("type") == "object" and not (
        found.get("properties")
        or found.get("additionalProperties")
        or found.get("x-kubernetes-preserve-unknown-fields")
    )
    return not holds_nothing


def refuses_empty(schema: Schema, path: Sequence[str]) -> bool:
    """Whether an empty string is invalid there."""
    found = at(schema, path) or {}
    enum = found.get("enum")
    return bool(found.get("minLength")) or (isinstance(enum, list) and "" not in enum)
