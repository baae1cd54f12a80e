"""Whose is an object that a role creates: the owner put into its body, and read back from it. Pure.

The rules are those of the Go ansible-operator, so that garbage collection and adoption stay the same; only
creation (POST) is touched, never an update or an apply.
"""

from __future__ import annotations

import copy
import json
from enum import StrEnum
from typing import Any

import yaml

from runner.objects import GroupVersionKind, Owner
from runner.serve.target import Target
from runner.serve.upstream import Resource

PRIMARY = "operator-sdk/primary-resource"
PRIMARY_TYPE = "operator-sdk/primary-resource-type"
MARKERS = (b'"ownerReferences"', f'"{PRIMARY_TYPE}"'.encode())
JSON_TYPES = frozenset({"", "application/json"})
"""The API server takes a body without a content type for JSON."""
YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml"})


class Mechanism(StrEnum):
    """How a dependent names its owner."""

    OWNER_REFERENCE = "ownerReference"
    ANNOTATION = "annotation"


def may_inject(method: str, target: Target | None) -> bool:
    """Whether a request creates an object, as far as its method and path tell."""
    return method == "POST" and target is not None and not target.subresource and not target.name


def ownable(resource: Resource) -> bool:
    """Whether objects of this resource can be owned: reviews and the like cannot be read back."""
    return resource.verbs >= {"get", "list", "watch"}


def dependent_namespace(target: Target, body: dict[str, Any], *, namespaced: bool) -> str:
    """Where the object will be: the path's namespace, the body's only if the path has none."""
    if not namespaced:
        return ""
    return target.namespace or str((body.get("metadata") or {}).get("namespace") or "")


def mechanism_for(owner: Owner, namespace: str) -> Mechanism:
    """An owner reference cannot leave its namespace, so elsewhere annotations stand in for it."""
    if not owner.namespace or owner.namespace == namespace:
        return Mechanism.OWNER_REFERENCE
    return Mechanism.ANNOTATION


def inject(body: dict[str, Any], owner: Owner, mechanism: Mechanism) -> dict[str, Any]:
    """A copy of the object that names its owner. An owner reference that is there already is not doubled."""
    named = copy.copy(body)
    meta = named["metadata"] = dict(body.get("metadata") or {})
    if mechanism is Mechanism.ANNOTATION:
        meta["annotations"] = {**(meta.get("annotations") or {}), **annotations_of(owner)}
        return named
    present = list(meta.get("ownerReferences") or ())
    if not any(ref.get("uid") == owner.uid for ref in present):
        meta["ownerReferences"] = [*present, reference_to(owner)]
    return named


def reference_to(owner: Owner) -> dict[str, str]:
    return {
        "apiVersion": owner.gvk.api_version,
        "kind": owner.gvk.kind,
        "name": owner.name,
        "uid": owner.uid,
    }


def annotations_of(owner: Owner) -> dict[str, str]:
    where = f"{owner.namespace}/{owner.name}" if owner.namespace else owner.name
    return {PRIMARY: where, PRIMARY_TYPE: type_text(owner.gvk)}


def type_text(gvk: GroupVersionKind) -> str:
    return f"{gvk.kind}.{gvk.group}" if gvk.group else gvk.kind


def named_by(body: dict[str, Any], owner: Owner) -> Mechanism | None:
    """How an object names an owner of this kind, if it does: a dependent from before a restart shows itself so."""
    meta = body.get("metadata") or {}
    for ref in meta.get("ownerReferences") or ():
        if (ref.get("apiVersion"), ref.get("kind")) == (owner.gvk.api_version, owner.gvk.kind):
            return Mechanism.OWNER_REFERENCE
    if (meta.get("annotations") or {}).get(PRIMARY_TYPE) == type_text(owner.gvk):
        return Mechanism.ANNOTATION
    return None


def decode(raw: bytes, content_type: str) -> dict[str, Any] | None:
    """The object in a request body; None for what is no JSON or YAML object and must go on untouched."""
    try:
        if content_type in JSON_TYPES:
            body = json.loads(raw)
        elif content_type in YAML_TYPES:
            body = yaml.load(raw, Loader=_PlainLoader)  # noqa: S506  (a SafeLoader with fewer types)
        else:
            return None
    except (ValueError, yaml.YAMLError, RecursionError):
        return None
    return body if isinstance(body, dict) and _well_formed(body) else None


def encode(body: dict[str, Any]) -> bytes:
    """Compact JSON. Raises ValueError or TypeError for what JSON cannot say (a number out of range)."""
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def _well_formed(body: dict[str, Any]) -> bool:
    """Whether what injection touches has the right types; if not, the API server's own complaint is the best."""
    meta = body.get("metadata") or {}
    if not isinstance(meta, dict) or not isinstance(meta.get("annotations") or {}, dict):
        return False
    refs = meta.get("ownerReferences") or []
    return isinstance(refs, list) and all(isinstance(ref, dict) for ref in refs)


class _PlainLoader(yaml.SafeLoader):
    """Dates stay text, as JSON has none and the API server's own YAML reader leaves them."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
