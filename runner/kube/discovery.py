"""Kinds and the resources that serve them, asked once per group and version; and whole objects by their keys."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack
from urllib.parse import quote

from runner.errors import KindAbsentError, NotFoundError, TooManyObjectsError
from runner.kube.client import Client, Options
from runner.kube.clock import REAL, Clock
from runner.objects import Body, GroupVersionKind, ObjectKey, ObjectMeta, parse_meta

ABSENT_FOR = 1.0
"""Seconds for which "there is no such kind" is believed without asking again."""


PAGE = "500"
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_MERGE_PATCH = "application/merge-patch+json"
MOST_GROUPS = 500
"""Groups and versions that are remembered before those that serve nothing are forgotten: runs may ask for any."""
STATUS_AGE = 60.0
"""Seconds for which a kind is believed to have no status subresource."""


@dataclass(frozen=True, slots=True)
class Resource:
    """How a kind is served: its name in URLs, its scope, what it supports, and the names that kubectl takes."""

    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    verbs: frozenset[str]
    subresources: frozenset[str]
    names: frozenset[str] = frozenset()

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path, percent-encoded. A namespace given for a cluster-scoped kind is ignored."""
        parts = [root(self.gvk.group, self.gvk.version)]
        if namespace and self.namespaced:
            parts += ["namespaces", quote(namespace, safe="")]
        parts += [self.plural, *(quote(part, safe=":") for part in (name, subresource) if part)]
        return "/".join(parts)


@dataclass(slots=True)
class _Group:
    """One group and version: what it served when it was last asked."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    asked_at: float = -math.inf
    by_kind: Mapping[str, Resource] = field(default_factory=dict)
    by_plural: Mapping[str, Resource] = field(default_factory=dict)


class Discovery:
    """Answers from memory where it can; lookups at the same time share one request."""

    def __init__(self, client: Client, clock: Clock = REAL) -> None:
        self._client = client
        self._clock = clock
        self._groups: dict[tuple[str, str], _Group] = {}

    async def resource(self, gvk: GroupVersionKind, *, max_age: float = math.inf) -> Resource:
        """What was learned at most `max_age` seconds ago.

        Raises KindAbsentError, and ApiError or UnreachableError where the server cannot say.
        """
        group = self._group(gvk.group, gvk.version)
        if gvk.kind not in group.by_kind or self._clock.now() - group.asked_at > max_age:
            await self._ask(group, gvk.group, gvk.version)
        if gvk.kind in group.by_kind:
            return group.by_kind[gvk.kind]
        raise KindAbsentError(f"the API server does not serve {gvk}: is its CustomResourceDefinition installed?")

    async def by_plural(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource of that name, or None if there is none. Raises ApiError or UnreachableError."""
        known = self._group(group, version)
        if plural not in known.by_plural:
            await self._ask(known, group, version)
        return known.by_plural.get(plural)

    def names(self, gvk: GroupVersionKind) -> list[str]:
        """Those that kubectl takes, of a kind that was looked up before; else none."""
        known = self._group(gvk.group, gvk.version).by_kind.get(gvk.kind)
        return sorted(known.names) if known else []

    def forget(self, gvk: GroupVersionKind) -> None:
        """The next lookup of this group and version asks the server."""
        self._groups.pop((gvk.group, gvk.version), None)

    def _group(self, group: str, version: str) -> _Group:
        if (group, version) not in self._groups and len(self._groups) >= MOST_GROUPS:
            self._groups = {name: known for name, known in self._groups.items() if known.by_kind}
        return self._groups.setdefault((group, version), _Group())

    async def _ask(self, known: _Group, group: str, version: str) -> None:
        async with known.lock:
            if self._clock.now() - known.asked_at < ABSENT_FOR:
                return
            try:
                found = await self._client.request("GET", root(group, version))
            except NotFoundError:
                found = {}
            resources = resources_of(group, version, (found or {}).get("resources") or ())
            known.by_plural = {resource.plural: resource for resource in resources}
            known.by_kind = {resource.gvk.kind: resource for resource in reversed(resources)}
            known.asked_at = self._clock.now()


def root(group: str, version: str) -> str:
    """The URL path of a version of a group."""
    if not group:
        return f"/api/{quote(version, safe='')}"
    return f"/apis/{quote(group, safe='')}/{quote(version, safe='')}"


def resources_of(group: str, version: str, entries: Sequence[Body]) -> list[Resource]:
    """The entries of an APIResourceList, each with its subresources if they are among them."""
    subresources: dict[str, set[str]] = {}
    for entry in entries:
        plural, slash, sub = entry["name"].partition("/")
        if slash:
            subresources.setdefault(plural, set()).add(sub)
    return [
        Resource(
            gvk=GroupVersionKind(group, version, entry["kind"]),
            plural=entry["name"],
            namespaced=bool(entry.get("namespaced")),
            verbs=frozenset(entry.get("verbs") or ()),
            subresources=frozenset(subresources.get(entry["name"], ())),
            names=frozenset(_names(entry)),
        )
        for entry in entries
        if "/" not in entry["name"]
    ]


def _names(entry: Body) -> list[str]:
    given = [
        entry["name"],
        entry.get("singularName") or "",
        entry["kind"].lower(),
        *(entry.get("shortNames") or ()),
    ]
    return [name for name in given if name]


class ObjectsApi:
    """All calls raise ApiError's tree, UnreachableError, and KindAbsentError for a kind that is not served."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def get(self, key: ObjectKey) -> dict[str, Any]:
        """Raises NotFoundError, and NestedError for an object that is nested too deeply."""
        return await self._call("GET", key, whole=True)

    async def replace(self, key: ObjectKey, body: object) -> dict[str, Any]:
        """Raises ConflictError if the object has changed since `body` was read."""
        return await self._call("PUT", key, body=body, whole=True)

    async def replace_status(self, key: ObjectKey, body: object) -> dict[str, Any]:
        """Writes the status of `body` only. Raises ConflictError as `replace` does.

        The answer may lack what is nested too deeply.
        """
        return await self._call("PUT", key, "status", body=body)

    async def has_status(self, key: ObjectKey) -> bool:
        """Whether the kind has the status subresource."""
        resource = await self._discovery.resource(key.gvk)
        if "status" not in resource.subresources:
            resource = await self._discovery.resource(key.gvk, max_age=STATUS_AGE)
        return "status" in resource.subresources

    @property
    def server(self) -> str:
        """Which API server they are on: its address."""
        return self._client.base_url

    def about(self, gvk: GroupVersionKind) -> dict[str, Any]:
        """What tells people of a kind of which an object was read: where it is, and what kubectl takes for it."""
        return {"server": self.server, "names": self._discovery.names(gvk)}

    async def metadata(self, gvk: GroupVersionKind, namespace: str, *, most: int) -> tuple[str, list[ObjectMeta]]:
        """The kind's plural, and the metadata of all its objects in a namespace (empty: cluster-scoped).

        Raises TooManyObjectsError for more than `most` of them.
        """
        resource = await self._discovery.resource(gvk)
        path, params, found = resource.path(namespace), {"limit": PAGE}, []
        while True:
            page = await self._client.request("GET", path, accept=METADATA, params=params)
            found += [parse_meta(item) for item in page.get("items") or ()]
            if len(found) > most:
                raise TooManyObjectsError(f"there are more than {most} to look at")
            follows = (page.get("metadata") or {}).get("continue")
            if not follows:
                return resource.plural, found
            params = {"limit": PAGE, "continue": follows}

    async def remove(self, key: ObjectKey, meta: ObjectMeta) -> dict[str, Any]:
        """Deletes the object as it was read, in the background what it owns.

        Raises ConflictError if it has changed, or is another one, since.
        """
        preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        options = {"propagationPolicy": "Background", "preconditions": preconditions}
        return await self._call("DELETE", key, body=options)

    async def annotate(self, key: ObjectKey, meta: ObjectMeta, annotations: Mapping[str, str]) -> dict[str, Any]:
        """Adds annotations to the object as it was read.

        Raises ConflictError if it has changed, or is another one, since.
        """
        metadata = {"uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": dict(annotations)}
        return await self._call("PATCH", key, body={"metadata": metadata}, content_type=_MERGE_PATCH)

    def forget_kind(self, gvk: GroupVersionKind) -> None:
        """What is known of this kind is in doubt: it is looked up anew."""
        self._discovery.forget(gvk)

    async def _call(
        self, method: str, key: ObjectKey, subresource: str = "", **options: Unpack[Options]
    ) -> dict[str, Any]:
        resource = await self._discovery.resource(key.gvk)
        path = resource.path(key.namespace, key.name, subresource)
        return dict(await self._client.request(method, path, **options))
