"""The Kubernetes nouns that every room shares, as plain immutable data."""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from sys import intern
from typing import Any

VALUE_LIMIT = 512
"""Characters of an annotation's value that are remembered: `last-applied-configuration` is a whole object."""

Body = Mapping[str, Any]
"""An object as the API server sends it: decoded JSON."""


@dataclass(frozen=True, slots=True, order=True)
class GroupVersionKind:
    """A kind, fully named. The core group is the empty string."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        """The text that logs and metric labels carry: `<group>/<version>, Kind=<Kind>`."""
        return f"{self.group}/{self.version}, Kind={self.kind}"

    @classmethod
    def of(cls, api_version: str, kind: str) -> GroupVersionKind:
        group, _, version = api_version.rpartition("/")
        return cls(group, version, kind)


@dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """What a reconcile is about. `namespace` is empty for a cluster-scoped object."""

    gvk: GroupVersionKind
    namespace: str
    name: str

    def __str__(self) -> str:
        return (
            f"{self.gvk.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.gvk.kind} {self.name}"
        )


@dataclass(frozen=True, slots=True)
class Owner:
    """The custom resource a run belongs to; what the run creates becomes its dependent."""

    gvk: GroupVersionKind
    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.gvk, self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class OwnerRef:
    """An owner as a dependent names it in `metadata.ownerReferences`."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ObjectMeta:
    """What the operator remembers of an object it watches: enough to decide whether a change matters.

    `content_digest` and `status_digest` are hashes of `metadata.managedFields` without and with only the
    entries of the status subresource: for kinds without a generation they tell an edit from a status update.
    They carry times in whole seconds: of two edits in one second only the resource version tells.
    An annotation value longer than VALUE_LIMIT is kept as its hash: it can be compared, not read.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int
    creation: str
    deletion: str | None
    labels: tuple[tuple[str, str], ...]
    annotations: tuple[tuple[str, str], ...]
    finalizers: tuple[str, ...]
    owners: tuple[OwnerRef, ...]
    content_digest: int
    status_digest: int


def parse_meta(body: Body) -> ObjectMeta:
    """The metadata of an object (whole or PartialObjectMetadata), missing fields as empty values."""
    meta: Body = body.get("metadata") or {}
    content, status = _digests(meta.get("managedFields"))
    return ObjectMeta(
        namespace=intern(meta.get("namespace", "")),
        name=meta.get("name", ""),
        uid=meta.get("uid", ""),
        resource_version=meta.get("resourceVersion", ""),
        generation=meta.get("generation", 0),
        creation=meta.get("creationTimestamp") or "",
        deletion=meta.get("deletionTimestamp"),
        labels=_pairs(meta.get("labels")),
        annotations=_pairs(meta.get("annotations")),
        finalizers=tuple(map(intern, meta.get("finalizers") or ())),
        owners=tuple(_owner(ref) for ref in meta.get("ownerReferences") or ()),
        content_digest=content,
        status_digest=status,
    )


def key_of(body: Body) -> ObjectKey:
    """The key of a whole object, from its apiVersion, kind and metadata."""
    meta = body["metadata"]
    return ObjectKey(
        GroupVersionKind.of(body["apiVersion"], body["kind"]), meta.get("namespace", ""), meta["name"]
    )


def _pairs(mapping: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(_pair(*item) for item in sorted(mapping.items())) if mapping else ()


def _pair(key: str, value: str) -> tuple[str, str]:
    if len(value) > VALUE_LIMIT:
        value = "sha256:" + sha256(value.encode()).hexdigest()
    return _shared_pair(key, value)


@lru_cache(maxsize=4096)
def _shared_pair(key: str, value: str) -> tuple[str, str]:
    """Most objects carry the same labels: one tuple serves them all."""
    return (intern(key), value)


def _owner(ref: Body) -> OwnerRef:
    return _shared_owner(ref.get("apiVersion", ""), ref.get("kind", ""), ref.get("name", ""), ref.get("uid", ""))


@lru_cache(maxsize=4096)
def _shared_owner(api_version: str, kind: str, name: str, uid: str) -> OwnerRef:
    """One owner has many dependents."""
    return OwnerRef(intern(api_version), intern(kind), name, uid)


def _digests(fields: Sequence[Body] | None) -> tuple[int, int]:
    """Of the entries without and with only the status subresource. marshal's old format is plain and quick."""
    if not fields:
        return 0, 0
    status = [entry for entry in fields if entry.get("subresource") == "status"]
    content = [entry for entry in fields if entry.get("subresource") != "status"]
    return hash(marshal.dumps(content, 2)), hash(marshal.dumps(status, 2))
