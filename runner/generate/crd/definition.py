"""A CustomResourceDefinition from its versions. Pure."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.config.watches import Definition
from runner.generate.crd.values import PRESERVE, Schema
from runner.objects import GroupVersionKind
from runner.validate.manifests.crds import GENERATED
from runner.validate.manifests.schemas import declared, nearest

BY = "ansible-operator generate crds"
_ANYTHING: Schema = {PRESERVE: True}
_TEXT: Schema = {"type": "string"}
_CONDITION: Schema = {
    "type": "object",
    "required": ["type", "status"],
    PRESERVE: True,
    "properties": {
        "type": {**_TEXT, "description": "Running, Successful, Failure, Paused or Drifted, or somebody else's."},
        "status": {**_TEXT, "description": "True, False or Unknown."},
        "reason": {**_TEXT, "description": "Why, in a word."},
        "message": {**_TEXT, "description": "Why, in a sentence."},
        "lastTransitionTime": {**_TEXT, "format": "date-time", "description": "When the status changed."},
        "observedGeneration": {"type": "integer", "description": "The generation that this was said of."},
        "ansibleResult": {
            "type": "object",
            PRESERVE: True,
            "description": "How many tasks were ok, changed, skipped and failed, and when the run ended.",
        },
    },
}
_RUNNING: Schema = {
    "name": "Running",
    "type": "string",
    "description": "True while a run is under way",
    "jsonPath": '.status.conditions[?(@.reason=="Running")].status',  # at rest the condition has another reason
}
_SUCCESSFUL: Schema = {
    "name": "Successful",
    "type": "string",
    "description": "Whether the last reconciliation succeeded",
    "jsonPath": '.status.conditions[?(@.type=="Successful")].status',
}
_AGE: Schema = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_FAILURE: Schema = {
    "name": "Failure",
    "type": "string",
    "priority": 1,
    "description": "Why the last reconciliation failed",
    "jsonPath": '.status.conditions[?(@.type=="Failure")].message',
}


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a kind: its spec, the names of the fields of its status, and what the watch adds.

    `manage_status` is false where the operator writes no status.
    """

    name: str
    spec: Schema
    status: Sequence[str]
    hints: Definition
    description: str = ""
    manage_status: bool = True


Unknown = Callable[[str, str], None]
"""Is told what in `crd` names a path that the schema does not have, and a hint which one may be meant."""


def custom_resource_definition(
    gvk: GroupVersionKind, hints: Definition, versions: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The whole object: `hints` has what all versions share, `versions` the entry of each."""
    plural = hints.plural or plural_of(gvk.kind)
    names: dict[str, Any] = {
        "kind": gvk.kind,
        "listKind": f"{gvk.kind}List",
        "plural": plural,
        "singular": gvk.kind.lower(),
    }
    if hints.short_names:
        names["shortNames"] = list(hints.short_names)
    if hints.categories:
        names["categories"] = list(hints.categories)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{gvk.group}", "annotations": {GENERATED: BY}},
        "spec": {
            "group": gvk.group,
            "scope": hints.scope,
            "names": names,
            "versions": list(versions),
        },
    }


def plural_of(kind: str) -> str:
    """The English plural that Kubernetes guesses, too."""
    word = kind.lower()
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return f"{word[:-1]}ies"
    return f"{word}s"


def version_entry(version: Version, *, stored: bool, unknown: Unknown) -> dict[str, Any]:
    """The entry of a version; `unknown` is told the paths of its hints that its schema has not."""
    root = _root(version)
    for path, added in version.hints.schema.items():
        if not _add(root, path, added):
            unknown(f"schema.{path}", nearest(root, path))
    subresources: dict[str, Any] = {"status": {}}
    if version.hints.scale:
        subresources["scale"] = dict(version.hints.scale)
    return {
        "name": version.name,
        "served": True,
        "storage": stored,
        "subresources": subresources,
        "additionalPrinterColumns": _columns(version, root, unknown),
        "schema": {"openAPIV3Schema": root},
    }


def _root(version: Version) -> Schema:
    described = {"description": version.description} if version.description else {}
    return {
        **described,
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": version.spec,
            "status": _status(version),
        },
    }


def _status(version: Version) -> Schema:
    """What the operator writes; others may add to it."""
    status: Schema = {"type": "object", PRESERVE: True}
    if not version.manage_status:
        return status
    properties: Schema = {}
    for path in version.status:
        place = properties
        *parents, last = path.split(".")
        for name in parents:
            inner = place.setdefault(name, {"type": "object", PRESERVE: True})
            place = inner.setdefault("properties", {})
        place.setdefault(last, dict(_ANYTHING))
    properties["conditions"] = {
        "type": "array",
        "description": "What the operator says of this object.",
        "items": copy.deepcopy(_CONDITION),  # a hint may add to it
    }
    return {**status, "properties": properties}


def _add(root: Schema, path: str, added: Mapping[str, Any]) -> bool:
    """Add to the schema at a path in place; whether there is one."""
    schema = declared(root, path)
    if schema is None:
        return False
    if "type" in added and "type" not in schema:
        schema.pop(PRESERVE, None)
    rules = [*schema.get("x-kubernetes-validations", ()), *added.get("x-kubernetes-validations", ())]
    schema.update(added)
    if rules:
        schema["x-kubernetes-validations"] = rules
    return True


def _columns(version: Version, root: Schema, unknown: Unknown) -> list[Schema]:
    own = []
    for name, path in version.hints.columns.items():
        schema = declared(root, path)
        if schema is None:
            unknown(f"columns.{name}", nearest(root, path))
            continue
        kind = schema.get("type", "string")
        column = {"name": name, "type": kind if kind in ("integer", "number", "boolean") else "string"}
        if text := schema.get("description"):
            column["description"] = text.splitlines()[0]
        own.append({**column, "jsonPath": f".{path}"})
    if not version.manage_status:
        return [*own, _AGE]
    return [*own, _RUNNING, _SUCCESSFUL, _AGE, _FAILURE]
