"""The Kubernetes nouns that every room shares, as plain immutable data."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from secrets import token_bytes
from sys import intern
from typing import Any

VALUE_LIMIT = 512
"""Characters that equal texts of several objects are shared up to."""

LEVELS = 128
"""How deep an object may be nested: Ansible begins to fail at about 150, Python's JSON decoder at 1,000."""

PREFIX = "ansible.sdk.operatorframework.io/"
"""Of annotations with which people steer the operator."""
PRUNE_PLACES = PREFIX + "prune-places"
"""The annotation that the operator itself writes: the kinds and namespaces that runs wrote dependents to."""
PRIMARY = "operator-sdk/primary-resource"
PRIMARY_TYPE = "operator-sdk/primary-resource-type"
"""Annotations that name the owner where no owner reference can: `namespace/name` and `Kind.group`."""

_READ = (PREFIX, PRIMARY)
"""What annotations begin with whose values matter; of all others only whether they change."""
_KEY = token_bytes(16)
"""Without it nobody can try out which value a hash is of."""

SIGN = 4
"""Bytes that tell one write of a manager from another."""

LONGEST_NAME = 253
"""Bytes of an object's name."""

_NO_NAME = {"/", "%", "\0"}

Body = Mapping[str, Any]
"""An object as the API server sends it: decoded JSON."""

Json = dict[str, Any]
"""One that may be changed."""


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

    def is_meant(self, word: str, names: Iterable[str]) -> bool:
        """Whether kubectl would take `word` for it: one of its `names`, perhaps with .group or .version.group."""
        name, _, place = word.lower().partition(".")
        return name in names and place in ("", self.group.lower(), f"{self.version}.{self.group}".lower())


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
    `writers` has SIGN bytes of each entry of other subresources than status: by whom it is, and when they wrote.
    Of annotations that the operator does not read a hash of the value is kept: it can be compared, not read. In a
    Secret's `kubectl.kubernetes.io/last-applied-configuration` is what the Secret holds.
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
    writers: bytes = b""


def parse_meta(body: Body) -> ObjectMeta:
    """The metadata of an object (whole or PartialObjectMetadata), whatever is missing or odd as empty values."""
    meta = body.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    managed = managed_fields(body)
    content, status = _digests(managed)
    return ObjectMeta(
        namespace=intern(_text(meta.get("namespace"))),
        name=_text(meta.get("name")),
        uid=_text(meta.get("uid")),
        resource_version=_text(meta.get("resourceVersion")),
        generation=generation_of(body),
        creation=intern(_text(meta.get("creationTimestamp"))),
        deletion=_text(meta.get("deletionTimestamp")) or None,
        labels=_pairs(texts(meta.get("labels"))),
        annotations=_pairs(_hashed(texts(meta.get("annotations")))),
        finalizers=_shared_names(*_texts(meta.get("finalizers"))),
        owners=tuple([_owner(ref) for ref in _maps(meta.get("ownerReferences"))]),
        content_digest=content,
        status_digest=status,
        writers=b"".join([sign(entry) for entry in managed if entry.get("subresource") != "status"]),
    )


def managed_fields(body: Body) -> list[Body]:
    """Who wrote which fields: the entries of `metadata.managedFields`, those that are none left out."""
    meta = body.get("metadata")
    return _maps(meta.get("managedFields")) if isinstance(meta, Mapping) else []


def sign(entry: Body) -> bytes:
    """SIGN bytes that change when the manager of this entry writes anew, but not when it loses a field."""
    wrote = tuple(
        [_text(entry.get(name)) for name in ("manager", "operation", "subresource", "apiVersion", "time")]
    )
    return (hash(wrote) & 0xFFFFFFFF).to_bytes(SIGN)


def uid_of(body: Body) -> str:
    return str(body["metadata"].get("uid", ""))


def generation_of(body: Body) -> int:
    """The generation of an object; 0 where its kind has none."""
    meta = body.get("metadata")
    found = meta.get("generation") if isinstance(meta, Mapping) else None
    return found if isinstance(found, int) else 0


def texts(mapping: object) -> dict[str, str]:
    """Labels or annotations: those that are strings; none where there is no map."""
    if not isinstance(mapping, Mapping):
        return {}
    return {key: value for key, value in mapping.items() if isinstance(value, str)}


def is_name(text: str) -> bool:
    """Whether Kubernetes can name an object so, of whatever kind: what a URL's path may hold as one segment."""
    if text.strip() in ("", ".", "..") or _NO_NAME & set(text):
        return False
    return len(text.encode(errors="surrogatepass")) <= LONGEST_NAME


def nested_deeper(value: object, levels: int) -> bool:
    """Whether decoded JSON is nested deeper than that. Does not recurse, so that no depth is too much for it."""
    level = [value]
    for _ in range(levels + 1):
        inner = [item for item in level if isinstance(item, dict | list)]
        if not inner:
            return False
        level = [child for item in inner for child in (item.values() if isinstance(item, dict) else item)]
    return True


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _maps(values: object) -> list[Body]:
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, list) else []


def _pairs(mapping: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        [
            _shared_pair(key, value) if len(value) <= VALUE_LIMIT else (intern(key), value)
            for key, value in sorted(mapping.items())
        ]
    )


def _hashed(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: value if key.startswith(_READ) else _hash(value) for key, value in annotations.items()}


def _hash(value: str) -> str:
    return blake2b(value.encode(errors="surrogatepass"), digest_size=16, key=_KEY).hexdigest()


@lru_cache(maxsize=4096)
def _shared_pair(key: str, value: str) -> tuple[str, str]:
    """Most objects carry the same labels: one tuple serves them all."""
    return (intern(key), value)


def _owner(ref: Body) -> OwnerRef:
    owner = [_text(ref.get(name)) for name in ("apiVersion", "kind", "name", "uid")]
    # Nobody limits how long these are, and what is shared outlives its object.
    share = _shared_owner if sum(map(len, owner)) <= VALUE_LIMIT else OwnerRef
    return share(*owner)


def _shared_names(*names: str) -> tuple[str, ...]:
    """Few combinations of finalizers are in use; a long one is not worth being remembered."""
    return _remembered_names(*names) if sum(map(len, names)) <= VALUE_LIMIT else names


@lru_cache(maxsize=256)
def _remembered_names(*names: str) -> tuple[str, ...]:
    return names


@lru_cache(maxsize=4096)
def _shared_owner(api_version: str, kind: str, name: str, uid: str) -> OwnerRef:
    """One owner has many dependents."""
    return OwnerRef(intern(api_version), intern(kind), name, uid)


def _digests(entries: Sequence[Body]) -> tuple[int, int]:
    """Of the entries without and with only the status subresource."""
    status = [entry for entry in entries if entry.get("subresource") == "status"]
    content = [entry for entry in entries if entry.get("subresource") != "status"]
    return _digest(content), _digest(status)


def _digest(entries: list[Any]) -> int:
    """marshal's old format is plain and quick. What is too deep for it goes without its fields: the time tells."""
    try:
        return hash(marshal.dumps(entries, 2)) if entries else 0
    except ValueError:
        rest = [{key: value for key, value in entry.items() if isinstance(value, str)} for entry in entries]
        return hash(marshal.dumps(rest, 2))
