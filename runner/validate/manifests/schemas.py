"""The schemas of CRDs: what they declare, and what they keep of a custom resource. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.config.yamlfile import Located
from runner.validate.documents import Document, child, members, text

Schema = Mapping[str, Any]
ITEM = "[]"
"""In a path: into the items of a list."""
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
PRESERVE = "x-kubernetes-preserve-unknown-fields"


def version_of(crd: Document, name: str) -> tuple[int, Located] | None:
    """The entry of a version, and its place in `spec.versions`; the last one where a name is there twice."""
    found = [
        (index, node)
        for index, node in enumerate(members(crd.get("spec", "versions")))
        if text(child(node, "name")) == name
    ]
    return found[-1] if found else None


def schema_of(crd: Document, version: str) -> Located:
    """The schema of a version's objects; a null where there is none."""
    found = version_of(crd, version)
    return child(found[1], "schema", "openAPIV3Schema") if found else Located(None, crd.node.line)


def properties_of(schema: Schema) -> Schema:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def keeps_all(schema: Schema) -> bool:
    """Whether fields that it does not name survive."""
    return schema.get(PRESERVE) is True or schema.get("additionalProperties") not in (None, False)


def at(schema: Schema, path: Sequence[str]) -> Schema | None:
    """The schema at a path: empty where anything is kept, None where the value would be pruned."""
    if not path:
        return schema
    name, *rest = path
    inner = schema.get("items") if name == ITEM else properties_of(schema).get(name)
    if isinstance(inner, Mapping):
        return at(inner, rest)
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        return at(additional, rest)
    return {} if additional is True or schema.get("x-kubernetes-preserve-unknown-fields") is True else None


def declared(schema: dict[str, Any], path: str) -> dict[str, Any] | None:
    """The schema at a path as `crd` in watches.yaml has them, such as `spec.users[].name`; `.` is the whole.

    None where no part of the schema is at that path, whatever is kept there.
    """
    for name in filter(None, path.replace(ITEM, f".{ITEM}").split(".")):
        found = schema.get("items") if name == ITEM else properties_of(schema).get(name)
        if not isinstance(found, dict):
            return None
        schema = found
    return schema


def nearest(schema: Schema, path: str) -> str:
    """The hint which path of the schema may be meant; empty where none is near."""
    close = difflib.get_close_matches(path, list(_paths(schema, "")), 1)
    return f"; did you mean {close[0]}?" if close else ""


def _paths(schema: Schema, path: str) -> Iterator[str]:
    inner = {f"{path}.{name}".lstrip("."): found for name, found in properties_of(schema).items()}
    inner |= {f"{path}{ITEM}": schema["items"]} if "items" in schema else {}
    for name, found in inner.items():
        if isinstance(found, Mapping):
            yield name
            yield from _paths(found, name)


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
