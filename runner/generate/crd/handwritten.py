"""What a CRD that somebody wrote says otherwise than the role, field by field. Pure.

It may be stricter than the role, with a pattern or a minimum, and describe what it likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runner.config.yamlfile import Located
from runner.errors import Problem
from runner.generate.crd.values import INT_OR_STRING, PRESERVE, Schema
from runner.validate.documents import Document, child, entries, texts
from runner.validate.manifests.schemas import schema_of

_COMPARED = ("default", "enum")
_ITEMS = "[]"


def differences(crd: Document, version: str, wanted: Schema) -> Iterator[Problem]:
    """`wanted` is the schema of the spec as the role says it."""
    spec = child(schema_of(crd, version), "properties", "spec")
    for line, path, message in _compared(spec, wanted, "spec"):
        yield Problem(crd.file, line, path, message)


def _compared(node: Located, wanted: Schema, path: str) -> Iterator[tuple[int, str, str]]:
    known, asked = _kind(entries(node)), _kind(wanted)
    if known != asked and "anything" not in (known, asked):
        yield node.line, path, f"the role says {asked}, and the CRD {known}"
        return
    for keyword in _COMPARED:
        here, there = child(node, keyword).plain(), wanted.get(keyword)
        if here != there:
            yield node.line, path, f"{keyword}: the role says {_shown(there)}, and the CRD {_shown(here)}"
    if "properties" in wanted:
        yield from _properties(node, wanted, path)
    if "items" in wanted and entries(child(node, "items")):
        yield from _compared(child(node, "items"), wanted["items"], path + _ITEMS)


def _properties(node: Located, wanted: Schema, path: str) -> Iterator[tuple[int, str, str]]:
    given, asked = entries(child(node, "properties")), wanted["properties"]
    required = texts(child(node, "required"))
    for name in asked.keys() - given.keys() if child(node, PRESERVE).value is not True else ():
        yield node.line, f"{path}.{name}", "the role has this option, and the CRD no such field"
    for name, field in given.items():
        if name not in asked:
            yield field.line, f"{path}.{name}", "the CRD has this field, and the role no such option"
            continue
        if (name in required) != (name in wanted.get("required", ())):
            word = "optional" if name in required else "required"
            yield field.line, f"{path}.{name}", f"the role says it is {word}, and the CRD that it is not"
        yield from _compared(field, asked[name], f"{path}.{name}")


def _kind(schema: Any) -> str:  # noqa: ANN401  (a schema of values, or of nodes)
    if INT_OR_STRING in schema:
        return "integer or string"
    found = schema.get("type", "anything")
    return str(found.value if isinstance(found, Located) else found)


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value)
