"""Whose is an object that a role creates: the owner put into its body, and read back from it. Pure.

The rules are those of the Go ansible-operator, so that garbage collection and adoption stay the same; only
creation (POST) is touched, never an update or an apply.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import yaml

from runner.errors import BodyError, MediaTypeError
from runner.kube.discovery import Resource
from runner.marks import MARK, Marks, ObjectName
from runner.objects import PRIMARY, PRIMARY_TYPE, GroupVersionKind, Owner
from runner.serve import protobuf
from runner.serve.forward import Target

MARKERS = (b'"ownerReferences"', f'"{PRIMARY_TYPE}"'.encode())
JSON_TYPES = frozenset({"", "application/json"})
"""The API server takes a body without a content type for JSON."""
YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml"})

MOST_WRITTEN = 4 * 1024 * 1024
"""Characters, about, that the aliases of a YAML body may come to; etcd refuses far smaller objects."""
TOO_MUCH = f"the aliases of this YAML stand for more than {MOST_WRITTEN >> 20} MiB: write less, or send JSON"
TOO_DEEP = (
    "this object has too many levels of maps and lists for the proxy to put its owner into it: make it flatter"
)


UNKNOWN_TYPE = (
    "an object of the type {!r} can't be given its owner: create it as application/json, application/yaml or "
    "application/vnd.kubernetes.protobuf"
)
_EVENTS = "events"
"""They are never pruned, so they need no mark."""
_TEXT = "tag:yaml.org,2002:str"
_NUMBERS = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})


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
    if not _well_formed(body):
        return None
    meta = body.get("metadata") or {}
    for ref in meta.get("ownerReferences") or ():
        if (ref.get("apiVersion"), ref.get("kind")) == (owner.gvk.api_version, owner.gvk.kind):
            return Mechanism.OWNER_REFERENCE
    if (meta.get("annotations") or {}).get(PRIMARY_TYPE) == type_text(owner.gvk):
        return Mechanism.ANNOTATION
    return None


def names(body: dict[str, Any], owner: Owner) -> bool:
    """Whether an object names this very owner, and not just another one of its kind."""
    if not _well_formed(body):
        return False
    meta = body.get("metadata") or {}
    if any(ref.get("uid") == owner.uid for ref in meta.get("ownerReferences") or ()):
        return True
    return annotations_of(owner).items() <= (meta.get("annotations") or {}).items()


def decode(raw: bytes, content_type: str) -> dict[str, Any] | None:
    """The object in a request body; None for what the API server refuses anyway and must go on untouched.

    Raises BodyError for what it might read though we cannot: nothing goes on without its owner.
    """
    try:
        if content_type in JSON_TYPES:
            body = _json(raw)
        elif content_type in YAML_TYPES:
            body = yaml.load(raw, Loader=_PlainLoader)  # noqa: S506  (a SafeLoader with fewer types)
        else:
            return None
    except RecursionError:
        raise BodyError(TOO_DEEP) from None
    except (yaml.YAMLError, ValueError, TypeError) as error:  # the latter two: of dates and keys that Python lacks
        raise BodyError(f"this YAML cannot be read: {error}") from None
    return body if isinstance(body, dict) and _well_formed(body) else None


def _json(raw: bytes) -> Any:  # noqa: ANN401  (any JSON value)
    """None for what is not JSON. Bytes that are no UTF-8 become U+FFFD, as in the API server."""
    try:
        return json.loads(raw.decode(errors="replace"))
    except ValueError:
        return None


def encode(body: dict[str, Any]) -> bytes:
    """Compact JSON.

    Raises ValueError or TypeError for what JSON cannot say (a number out of range), BodyError for too many levels.
    """
    try:
        return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
    except RecursionError:
        raise BodyError(TOO_DEEP) from None


def _well_formed(body: dict[str, Any]) -> bool:
    """Whether what injection touches has the right types; if not, the API server's own complaint is the best."""
    meta = body.get("metadata") or {}
    if not isinstance(meta, dict) or not isinstance(meta.get("annotations") or {}, dict):
        return False
    refs = meta.get("ownerReferences") or []
    return isinstance(refs, list) and all(isinstance(ref, dict) for ref in refs)


class _PlainLoader(yaml.SafeLoader):
    """Dates stay text, as JSON has none and the API server's own YAML reader leaves them.

    Raises BodyError where aliases make much of little: written out as JSON, each is a copy of what it stands for.
    """

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self._written = 0
        self._sizes: dict[yaml.Node, int] = {}

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: Any) -> str:  # noqa: ANN401  (as the library)
        """Without base 60: what a YAML of today writes as 12:30 is text."""
        tag: str = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        return _TEXT if tag in _NUMBERS and ":" in (value or "") else tag

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401  (as the library)
        alias, before = self.check_event(yaml.AliasEvent), self._written
        node = super().compose_node(parent, index)
        if node is None:
            return None
        if alias:
            self._written += self._sizes.get(node, MOST_WRITTEN + 1)  # unknown: it stands within itself
            if self._written > MOST_WRITTEN:
                raise BodyError(TOO_MUCH)
        else:
            self._written += len(node.value) + 1 if isinstance(node, yaml.ScalarNode) else 1
            self._sizes[node] = self._written - before
        return node


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class Injected:
    """A body that names its owner, and how; `namespace` is the dependent's, or empty."""

    body: bytes
    content_type: str
    mechanism: Mechanism
    namespace: str


@dataclass(frozen=True, slots=True)
class Creation:
    """A request that creates an object for its owner; with `marks`, the object is marked as the owner's, too."""

    target: Target
    resource: Resource
    owner: Owner
    marks: Marks | None = None

    def annotations(self, namespace: str, name: object) -> dict[str, str]:
        """What the object gets besides its owner; nothing for one that the API server will name."""
        if self.marks is None or not isinstance(name, str) or not name or self.resource.plural == _EVENTS:
            return {}
        of = ObjectName.of(self.resource.gvk, namespace, name)
        return {MARK: self.marks.mark(self.owner.uid, of)}


def injected(raw: bytes, content_type: str, creation: Creation) -> Injected | None:
    """None for a malformed body, which must go on untouched for the API server to refuse it.

    Raises MediaTypeError for a body that is neither JSON, YAML nor protobuf, BodyError as `decode` does.
    """
    if content_type == protobuf.MEDIA_TYPE:
        return _into_protobuf(raw, creation)
    if content_type not in JSON_TYPES | YAML_TYPES:
        raise MediaTypeError(UNKNOWN_TYPE.format(content_type))
    body = decode(raw, content_type)
    if body is None:
        return None
    target, owner = creation.target, creation.owner
    namespace = dependent_namespace(target, body, namespaced=creation.resource.namespaced)
    mechanism = mechanism_for(owner, namespace)
    more = creation.annotations(namespace, (body.get("metadata") or {}).get("name"))
    try:
        encoded = encode(_annotated(inject(body, owner, mechanism), more))
    except (TypeError, ValueError):
        return None
    return Injected(encoded, "application/json", mechanism, namespace)


def _annotated(body: dict[str, Any], annotations: dict[str, str]) -> dict[str, Any]:
    """A body whose metadata is its own, with more annotations."""
    if annotations:
        meta = body["metadata"]
        meta["annotations"] = {**(meta.get("annotations") or {}), **annotations}
    return body


def _into_protobuf(raw: bytes, creation: Creation) -> Injected | None:
    owner = creation.owner
    namespace = creation.target.namespace if creation.resource.namespaced else ""
    mechanism = mechanism_for(owner, namespace)
    annotations = creation.annotations(namespace, protobuf.name_of(raw))
    body: bytes | None = raw
    if mechanism is Mechanism.OWNER_REFERENCE:
        body = protobuf.with_reference(raw, reference_to(owner))
    else:
        annotations = annotations_of(owner) | annotations
    if body is not None and annotations:
        body = protobuf.with_annotations(body, annotations)
    return Injected(body, protobuf.MEDIA_TYPE, mechanism, namespace) if body is not None else None
