"""A version that custom resources are converted to: its schema, from that of the watch's version. Pure.

A field that is another's, renamed, has its schema; what an expression computes may be anything.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from runner.config.admission import Conversion
from runner.generate.crd.values import PRESERVE, Schema

_PATH = re.compile(r"spec(\.[A-Za-z0-9_]+)+")


def converted(version: Mapping[str, Any], name: str, conversion: Conversion) -> dict[str, Any]:
    """The entry `name` of a CRD's versions, from that of the watch's version.

    It is served where the API server is told who converts: elsewhere it would show what is stored as it is.
    """
    found: dict[str, Any] = copy.deepcopy(dict(version)) | {"name": name, "served": False, "storage": False}
    spec = found["schema"]["openAPIV3Schema"]["properties"]["spec"]
    before = copy.deepcopy(spec)
    for path in conversion.back:
        _remove(spec, path.split("."))
    renamed = {}
    for path, expression in conversion.to.items():
        source = expression.split(".")[1:] if _PATH.fullmatch(expression) else []
        schema, required = _find(before, source) if source else (None, False)
        _put(spec, path.split("."), schema or {PRESERVE: True}, required=required)
        if schema is not None:
            renamed[f".{expression}"] = f".spec.{path}"
    _rename(found, renamed, {f".spec.{path}" for path in conversion.back})
    return found


def _rename(version: dict[str, Any], renamed: Mapping[str, str], gone: set[str]) -> None:
    """Columns and the scale subresource name this version's fields; without its replicas nothing is scaled."""
    version["additionalPrinterColumns"] = [
        column | {"jsonPath": renamed.get(column["jsonPath"], column["jsonPath"])}
        for column in version["additionalPrinterColumns"]
        if column["jsonPath"] in renamed or column["jsonPath"] not in gone
    ]
    scale = version["subresources"].get("scale")
    if scale is None:
        return
    path = scale["specReplicasPath"]
    if path in renamed or path not in gone:
        scale["specReplicasPath"] = renamed.get(path, path)
    else:
        del version["subresources"]["scale"]


def _find(schema: Schema, steps: list[str]) -> tuple[Schema | None, bool]:
    """The schema of a field, and whether the field is required."""
    required = False
    for step in steps:
        required = step in schema.get("required", ())
        if step not in schema.get("properties", {}):
            return None, False
        schema = schema["properties"][step]
    return copy.deepcopy(schema), required


def _remove(schema: Schema, steps: list[str]) -> None:
    *parents, last = steps
    for step in parents:
        schema = schema.get("properties", {}).get(step, {})
    schema.get("properties", {}).pop(last, None)
    _require(schema, last, required=False)


def _put(schema: Schema, steps: list[str], field: Schema, *, required: bool) -> None:
    *parents, last = steps
    for step in parents:
        schema = schema.setdefault("properties", {}).setdefault(step, {"type": "object"})
    schema.setdefault("properties", {})[last] = field
    _require(schema, last, required=required)


def _require(schema: Schema, name: str, *, required: bool) -> None:
    names = [other for other in schema.get("required", ()) if other != name] + [name] * required
    schema.pop("required", None)
    if names:
        schema["required"] = names
