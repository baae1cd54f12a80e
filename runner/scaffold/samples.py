"""A custom resource to try, from the schema of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

_BY_TYPE: Mapping[str, Any] = {
    "string": "example",
    "integer": 1,
    "number": 1.0,
    "boolean": False,
    "array": [],
    "object": {},
}


def spec_text(schema: Mapping[str, Any]) -> str:
    """`spec` in YAML: the fields that it must have, and those that have a default."""
    return yaml.safe_dump({"spec": _object(schema)}, sort_keys=False, allow_unicode=True, width=110)


def _object(schema: Mapping[str, Any]) -> dict[str, Any]:
    required = schema.get("required", ())
    fields: Mapping[str, Any] = schema.get("properties", {})
    return {
        name: _value(field)
        for name, field in fields.items()
        if name in required or ("default" in field and field["default"] not in ("", [], {}))
    }


def _value(field: Mapping[str, Any]) -> Any:  # noqa: ANN401  (any JSON value)
    if "default" in field:
        return field["default"]
    if "enum" in field:
        return field["enum"][0]
    if field.get("type") == "object" and "properties" in field:
        return _object(field)
    if field.get("type") == "array" and field.get("minItems"):
        return [_value(field.get("items", {}))]
    kind = field.get("type", "string")
    return field.get("minimum", _BY_TYPE[kind]) if kind in ("integer", "number") else _BY_TYPE[kind]
