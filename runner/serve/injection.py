"""The owner put into a request body, whatever format it has. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from runner.objects import Owner
from runner.serve import ownership, protobuf
from runner.serve.ownership import Mechanism
from runner.serve.target import Target


@dataclass(frozen=True, slots=True)
class Injected:
    """A body that names its owner, and how; `namespace` is the dependent's, or empty."""

    body: bytes
    content_type: str
    mechanism: Mechanism
    namespace: str


def injected(raw: bytes, content_type: str, target: Target, owner: Owner, *, namespaced: bool) -> Injected | None:
    """None for a body that must go on untouched: neither JSON, YAML nor protobuf, or malformed."""
    if content_type == protobuf.MEDIA_TYPE:
        return _into_protobuf(raw, target, owner, namespaced=namespaced)
    body = ownership.decode(raw, content_type)
    if body is None:
        return None
    namespace = ownership.dependent_namespace(target, body, namespaced=namespaced)
    mechanism = ownership.mechanism_for(owner, namespace)
    try:
        encoded = ownership.encode(ownership.inject(body, owner, mechanism))
    except (TypeError, ValueError):
        return None
    return Injected(encoded, "application/json", mechanism, namespace)


def _into_protobuf(raw: bytes, target: Target, owner: Owner, *, namespaced: bool) -> Injected | None:
    namespace = target.namespace if namespaced else ""
    mechanism = ownership.mechanism_for(owner, namespace)
    if mechanism is Mechanism.OWNER_REFERENCE:
        body = protobuf.with_reference(raw, ownership.reference_to(owner))
    else:
        body = protobuf.with_annotations(raw, ownership.annotations_of(owner))
    return Injected(body, protobuf.MEDIA_TYPE, mechanism, namespace) if body is not None else None
