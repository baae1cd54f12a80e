"""What an API server refuses in the schemas of a CRD: that they are structural, as it calls that. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.config.yamlfile import Located
from runner.validate.documents import Document, child, entries, members, text, texts
from runner.validate.findings import Finding
from runner.validate.manifests.schemas import EMBEDDED, INT_OR_STRING, PRESERVE
from runner.validate.manifests.values import misfits, refused_by_go

TYPES = ("object", "array", "string", "integer", "number", "boolean")
_MAPS, _LISTS = ("properties",), ("allOf", "anyOf", "oneOf", "required", "enum", "x-kubernetes-validations")
_TEXTS = ("type", "format", "pattern", "title", "description", "x-kubernetes-list-type", "x-kubernetes-map-type")
_FLAGS = (
    *("nullable", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems", PRESERVE, INT_OR_STRING),
    EMBEDDED,
)
_NUMBERS = ("minimum", "maximum", "multipleOf")
_SIZES = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_ANY = ("default", "example", "externalDocs", "additionalProperties", "items", "not", "x-kubernetes-list-map-keys")
KEYWORDS = (*_MAPS, *_LISTS, *_TEXTS, *_FLAGS, *_NUMBERS, *_SIZES, *_ANY)
_WANTED: Mapping[str, tuple[Any, str]] = {
    **dict.fromkeys(_MAPS, (dict, "a map")),
    **dict.fromkeys(_LISTS, (list, "a list")),
    **dict.fromkeys(_TEXTS, (str, "a string")),
    **dict.fromkeys(_FLAGS, (bool, "true or false")),
    **dict.fromkeys(_NUMBERS, ((int, float), "a number")),
    **dict.fromkeys(_SIZES, (int, "a whole number")),
}
_FORBIDDEN = {
    "uniqueItems": (True, "remove it, or set `x-kubernetes-list-type: set`"),
    PRESERVE: (False, "remove it: without it, unknown fields are pruned"),
}
"""Values that must not be, and what to do instead."""
_FOREIGN = frozenset(
    {
        *("$ref", "$defs", "$schema", "id", "definitions", "dependencies", "patternProperties", "additionalItems"),
        *("const", "examples", "deprecated", "readOnly", "writeOnly", "contains", "propertyNames", "if", "then"),
        "else",
    }
)
"""Keywords of JSON Schema and OpenAPI that CRDs may not use."""
_NOT_OUTSIDE = ("type", "default", "description", "title", "nullable", "additionalProperties", PRESERVE)


@dataclass(frozen=True, slots=True)
class _Place:
    """A schema within a CRD; `junctor` where it is within an allOf, anyOf, oneOf or not, `direct` if it is in none
    of its properties."""

    crd: Document
    node: Located
    field: str
    junctor: bool = False
    direct: bool = False

    def inner(self, node: Located, more: str, *, junctor: bool = False) -> _Place:
        return _Place(self.crd, node, f"{self.field}.{more}", self.junctor or junctor, junctor)

    def finding(self, rule: str, message: str, name: str = "") -> Finding:
        node = entries(self.node).get(name, self.node)
        return Finding(rule, self.crd.file, node.line, f"{self.field}.{name}" if name else self.field, message)


def check(crd: Document) -> Iterator[Finding]:
    """What is wrong with the schema of each version."""
    for index, version in enumerate(members(crd.get("spec", "versions"))):
        root = child(version, "schema", "openAPIV3Schema")
        if not entries(root):
            continue
        place = _Place(crd, root, f"spec.versions[{index}].schema.openAPIV3Schema")
        if text(child(root, "type")) not in ("", "object"):
            yield place.finding("schema-not-structural", "must be object", "type")
        more = set(entries(child(root, "properties", "metadata", "properties"))) - {"name", "generateName"}
        if more:
            message = (
                f"metadata may say something of name and generateName alone: remove {', '.join(sorted(more))}"
            )
            yield place.inner(child(root, "properties"), "properties").finding(
                "schema-not-structural", message, "metadata"
            )
        yield from _schema(place)


def _schema(place: _Place) -> Iterator[Finding]:
    if not isinstance(place.node.value, dict):
        yield place.finding("schema-keyword", "must be a schema, that is a map such as `{type: string}`")
        return
    yield from _keywords(place)
    if place.junctor:
        yield from _inside_junctor(place)
    else:
        yield from _type(place)
        yield from _default(place)
    yield from _forbidden(place)
    yield from _list_type(place)
    yield from _pattern(place)
    yield from _inner(place)


def _keywords(place: _Place) -> Iterator[Finding]:
    for name, node in entries(place.node).items():
        kinds, words = _WANTED.get(name, (object, ""))
        if name not in KEYWORDS:
            close = [] if name in _FOREIGN else difflib.get_close_matches(name, KEYWORDS, 1)
            hint = f"did you mean {close[0]}?" if close else "remove it: schemas of CRDs have no such keyword"
            yield place.finding("schema-keyword", f"unknown field; {hint}", name)
        elif not isinstance(node.value, kinds) or (name in (*_NUMBERS, *_SIZES) and isinstance(node.value, bool)):
            also = ", with the names of the fields that must be there" if name == "required" else ""
            yield place.finding("schema-keyword", f"must be {words}{also}", name)


def _type(place: _Place) -> Iterator[Finding]:
    schema = entries(place.node)
    given = text(child(place.node, "type"))
    free = any(child(place.node, name).value is True for name in (INT_OR_STRING, PRESERVE))
    if not free and "type" not in schema:
        guess = "object" if "properties" in schema else "array" if "items" in schema else "string"
        yield place.finding("schema-type-missing", f"has no type: add one, such as `type: {guess}`")
    elif given and given not in TYPES:
        hint = "; set `nullable: true`" if given == "null" else f": use {', '.join(TYPES)}"
        yield place.finding("schema-not-structural", f'"{given}" is not a type{hint}', "type")
    if given == "array" and "items" not in schema:
        message = "an array needs items: add `items: {type: …}`"
        yield place.finding("schema-not-structural", message)


def _default(place: _Place) -> Iterator[Finding]:
    if child(place.node, "default").value is not None:
        schema = place.node.plain()
        for _, field, message in misfits(schema, child(place.node, "default")):
            where = f"{field}: " if field else ""
            yield place.finding("schema-default", f"{where}{message}: mend it, or the schema around it", "default")


def _inside_junctor(place: _Place) -> Iterator[Finding]:
    """Inside allOf, anyOf, oneOf and not, only what a value must fulfil may be said; int-or-string is excepted."""
    schema = entries(place.node)
    if place.direct and set(schema) == {"type"} and text(schema["type"]) in ("integer", "string"):
        return
    for name in _NOT_OUTSIDE:
        if name in schema:
            message = "must not be there inside allOf, anyOf, oneOf or not: say it outside"
            yield place.finding("schema-not-structural", message, name)


def _forbidden(place: _Place) -> Iterator[Finding]:
    schema = entries(place.node)
    for name, wrong in _FORBIDDEN.items():
        if name in schema and schema[name].value is wrong[0]:
            yield place.finding("schema-not-structural", f"must not be {str(wrong[0]).lower()}: {wrong[1]}", name)
    if "properties" in schema and entries(child(place.node, "additionalProperties")):
        message = "must not be there beside properties: remove one of them"
        yield place.finding("schema-not-structural", message, "additionalProperties")
    open_ = child(place.node, PRESERVE).value is True
    if child(place.node, EMBEDDED).value is True and not ("properties" in schema or open_):
        message = f"an embedded resource needs properties, or `{PRESERVE}: true`"
        yield place.finding("schema-not-structural", message)


def _list_type(place: _Place) -> Iterator[Finding]:
    given = text(child(place.node, "x-kubernetes-list-type"))
    keys = texts(child(place.node, "x-kubernetes-list-map-keys"))
    if given and given not in ("atomic", "set", "map"):
        message = f'"{given}" must be atomic, set or map'
        yield place.finding("schema-not-structural", message, "x-kubernetes-list-type")
    if given == "map" and not keys:
        message = "needs x-kubernetes-list-map-keys: the fields that tell items apart"
        yield place.finding("schema-not-structural", message, "x-kubernetes-list-type")
    required = texts(child(place.node, "items", "required"))
    for key in keys if given == "map" else ():
        if key not in required and "default" not in entries(child(place.node, "items", "properties", key)):
            message = f"{key} must be required in the items, or have a default"
            yield place.finding("schema-not-structural", message, "x-kubernetes-list-map-keys")


def _pattern(place: _Place) -> Iterator[Finding]:
    if wrong := refused_by_go(text(child(place.node, "pattern"))):
        yield place.finding("schema-pattern", f"is no regular expression of Go: {wrong}", "pattern")


def _inner(place: _Place) -> Iterator[Finding]:
    properties = child(place.node, "properties")
    for name, node in entries(properties).items():
        yield from _schema(place.inner(node, f"properties.{name}"))
    for name in ("items", "additionalProperties", "not"):
        node = child(place.node, name)
        if name == "items" and isinstance(node.value, list):
            yield place.finding("schema-not-structural", "must be one schema, is a list of them", name)
        elif name in entries(place.node) and not isinstance(node.value, bool):
            yield from _schema(place.inner(node, name, junctor=name == "not"))
    for name in ("allOf", "anyOf", "oneOf"):
        for index, node in enumerate(members(child(place.node, name))):
            yield from _schema(place.inner(node, f"{name}[{index}]", junctor=True))
