"""What a console is told of the fields of a custom resource: descriptors, made of the schema of its CRD. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
Descriptor = dict[str, Any]
_UI = "urn:alm:descriptor:com.tectonic.ui:"
CONDITIONS = "urn:alm:descriptor:io.kubernetes.conditions"
_OF_TYPE = {"integer": "number", "number": "number", "boolean": "booleanSwitch", "string": "text"}
_REPLICAS = "podCount"
LEVELS = 4
"""How deep descriptors go: no console shows more."""
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+")


def display_name(name: str) -> str:
    """A camelCase or dashed name as words: `HelloApp` is `Hello App`, `maxSize` is `Max Size`."""
    return " ".join(word if word.isupper() else word.capitalize() for word in _WORDS.findall(name)) or name


def of_spec(schema: Schema, replicas: str = "") -> list[Descriptor]:
    """The descriptors of a spec's fields; `replicas` is the path of the one that the scale subresource sets."""
    return list(_of_fields(schema, "", replicas.removeprefix(".spec."), LEVELS))


def of_status(schema: Schema) -> list[Descriptor]:
    """Those of the fields of a status at its top; what is deeper no console shows by itself."""
    return [
        _described(name, name, field) | {"x-descriptors": [CONDITIONS if name == "conditions" else f"{_UI}text"]}
        for name, field in sorted(_properties(schema).items())
    ]


def joined(made: list[Descriptor], written: list[Descriptor]) -> list[Descriptor]:
    """Those that a person has written, and what was made of the schema for all other paths."""
    known = {one.get("path"): one for one in written}
    paths = {one["path"] for one in made}
    return [known.get(one["path"], one) for one in made] + [one for one in written if one.get("path") not in paths]


def _of_fields(schema: Schema, above: str, replicas: str, levels: int) -> Iterator[Descriptor]:
    for name, field in sorted(_properties(schema).items()):
        path = f"{above}{name}"
        yield _described(name, path, field) | _shown_as(field, is_replicas=path == replicas)
        if levels > 1:
            yield from _of_fields(field, f"{path}.", replicas, levels - 1)
            items = field.get("items")
            if isinstance(items, Mapping):
                yield from _of_fields(items, f"{path}[0].", replicas, levels - 1)


def _described(name: str, path: str, field: Schema) -> Descriptor:
    description = " ".join(str(field.get("description", "")).split())
    found = {"description": description} if description else {}
    return {**found, "displayName": display_name(name), "path": path}


def _shown_as(field: Schema, *, is_replicas: bool) -> Descriptor:
    if is_replicas:
        return {"x-descriptors": [f"{_UI}{_REPLICAS}"]}
    if isinstance(field.get("enum"), list) and field.get("type") == "string":
        return {"x-descriptors": [f"{_UI}select:{value}" for value in field["enum"]]}
    if field.get("format") == "password":
        return {"x-descriptors": [f"{_UI}password"]}
    kind = _OF_TYPE.get(str(field.get("type")))
    return {"x-descriptors": [f"{_UI}{kind}"]} if kind else {}


def _properties(schema: Schema) -> Mapping[str, Schema]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}
