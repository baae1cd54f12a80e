"""Dependents as they pass the proxy: given their owner, recognised, and known as the runs' own writes."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import structlog
from aiohttp import hdrs, web
from multidict import CIMultiDict

from runner.errors import KubeError, UnownedError
from runner.kube.discovery import Discovery, Resource
from runner.marks import Marks
from runner.objects import GroupVersionKind, Owner
from runner.serve import forward, ownership
from runner.serve.forward import Target
from runner.serve.ownership import Creation, Mechanism, injected

GONE = ""
"""In place of a resourceVersion: the object was deleted."""


log = structlog.get_logger(__name__)
OnDependent = Callable[[Owner, GroupVersionKind, Mechanism, str], None]
"""Told of (whose run it is, kind of the dependent, how it names its owner, the dependent's namespace or "")."""
OnWrite = Callable[[GroupVersionKind, str], Awaitable[None]]
"""Told of kind and namespace ("" where it is cluster-scoped) of a dependent, before it is there."""
SMALL = 64 * 1024
INJECTED = 4 * 1024 * 1024
"""Bodies up to this many bytes are injected; the API server itself refuses more than 3 MiB."""


async def nobody(_kind: GroupVersionKind, _namespace: str) -> None:
    """Nobody keeps account of it."""


class OwnWrites:
    """Remembers (uid, resourceVersion) for a while. `seconds` and `limit` bound it."""

    def __init__(
        self, *, limit: int = 20_000, seconds: float = 600.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._seconds = seconds
        self._clock = clock
        self._seen: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._under_way: set[asyncio.Future[None]] = set()

    def add(self, uid: str, resource_version: str) -> None:
        now = self._clock()
        self._seen[uid, resource_version] = now
        self._seen.move_to_end((uid, resource_version))
        while self._seen and (len(self._seen) > self._limit or self._oldest() < now - self._seconds):
            self._seen.popitem(last=False)

    def has(self, uid: str, resource_version: str) -> bool:
        when = self._seen.get((uid, resource_version))
        return when is not None and when >= self._clock() - self._seconds

    def _oldest(self) -> float:
        return next(iter(self._seen.values()))

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """A write that is not answered yet: what it changed may be seen before its answer is."""
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way.add(answered)
        try:
            yield
        finally:
            self._under_way.discard(answered)
            if not answered.done():
                answered.set_result(None)

    async def settle(self, seconds: float) -> None:
        """Wait until the writes that are under way now are answered, at most this long."""
        if self._under_way:
            await asyncio.wait(tuple(self._under_way), timeout=seconds)


def items_of(body: object) -> list[dict[str, Any]]:
    """The objects of a list, each with the kind that the list has for all."""
    items = body.get("items") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(items, list):
        return []
    typed = {"apiVersion": body.get("apiVersion"), "kind": str(body.get("kind", "")).removesuffix("List")}
    return [{**typed, **item} for item in items if isinstance(item, dict)]


def written(method: str, body: object) -> list[tuple[str, str]]:
    """The (uid, resourceVersion) pairs that the answer to a successful write tells of.

    A deletion is told by a Status with `details.uid`, by the object, or by a list of them; an object whose last
    finalizer was just removed is gone as well.
    """
    if isinstance(body, dict) and body.get("kind") == "Status":
        uid = _member(body, "details").get("uid")
        return [(uid, GONE)] if uid and isinstance(uid, str) and method == "DELETE" else []
    items = body.get("items") if isinstance(body, dict) else None
    if isinstance(items, list) and "uid" not in _member(body, "metadata"):
        return [pair for item in items for pair in _versions(method, item)]
    return _versions(method, body)


def _versions(method: str, body: object) -> list[tuple[str, str]]:
    meta = _member(body, "metadata")
    uid, version = meta.get("uid"), meta.get("resourceVersion")
    if not uid or not isinstance(uid, str):
        return []
    gone = method == "DELETE" or (meta.get("deletionTimestamp") and not meta.get("finalizers"))
    return [(uid, each) for each in (version, GONE if gone else None) if isinstance(each, str)]


def _member(body: object, name: str) -> dict[str, Any]:
    """A map within what may be anything, or an empty one: aggregated API servers answer as they like."""
    found = body.get(name) if isinstance(body, dict) else None
    return found if isinstance(found, dict) else {}


class Dependents:
    """Knows which (owner kind, dependent kind, mechanism, namespace) were told of already."""

    def __init__(
        self,
        discovery: Discovery,
        on_dependent: OnDependent,
        *,
        inject: bool,
        watched: Callable[[GroupVersionKind], bool],
    ) -> None:
        self._discovery = discovery
        self._on_dependent = on_dependent
        self._inject = inject
        self._watched = watched
        self._told: set[tuple[GroupVersionKind, GroupVersionKind, Mechanism, str]] = set()

    async def outgoing(
        self,
        request: web.BaseRequest,
        target: Target | None,
        owner: Owner,
        headers: CIMultiDict[str],
        on_write: OnWrite | None = nobody,
        marks: Marks | None = None,
    ) -> forward.Data:
        """The body to send on, with the owner in it where it belongs; `headers` are changed to fit it.

        With `marks`, the object is marked as the owner's, too.

        `on_write` is told of the dependent's kind and namespace before it is there; None for a dry run, of which
        nobody has to be told.

        Raises BodyError for one that cannot be read well enough to put the owner in, and UnownedError while nobody
        can say whether it takes one.
        """
        if not request.body_exists:
            return None
        resource = await self._owned_resource(request, target, owner)
        if resource is None or target is None:
            return await request.read() if (request.content_length or SMALL + 1) <= SMALL else request.content
        raw, complete = await forward.read_up_to(request.content, INJECTED)
        if not complete:
            return forward.rejoined(raw, request.content)
        return await self._injected(raw, Creation(target, resource, owner, marks), headers, on_write)

    async def recognise(
        self, body: dict[str, Any], target: Target, owner: Owner
    ) -> tuple[GroupVersionKind, str] | None:
        """Tell of an object that names an owner of the requester's kind, e.g. after the operator was restarted.

        Returns its kind and namespace, if it is one.
        """
        named = ownership.named_by(body, owner) if self._wanted(owner) else None
        if named is None or target.subresource not in {"", "status"}:
            return None
        try:
            resource = await self._lookup(target)
        except (KubeError, OSError):
            return None  # it is asked about again when it is seen again
        if resource is None:
            return None
        namespace = ownership.dependent_namespace(target, body, namespaced=resource.namespaced)
        self._tell(owner, resource.gvk, named, namespace)
        return resource.gvk, namespace

    def might_be(self, raw: bytes) -> bool:
        """A cheap look at an object's bytes: does it name any owner?"""
        return any(marker in raw for marker in ownership.MARKERS)

    def _wanted(self, owner: Owner) -> bool:
        return self._inject and self._watched(owner.gvk)

    async def _owned_resource(
        self, request: web.BaseRequest, target: Target | None, owner: Owner
    ) -> Resource | None:
        if target is None or not ownership.may_inject(request.method, target) or not self._wanted(owner):
            return None
        try:
            return await self._lookup(target)
        except (KubeError, OSError) as error:
            raise UnownedError(
                f"{target.plural} are not created while their kind cannot be read: {error}"
            ) from None

    async def _lookup(self, target: Target) -> Resource | None:
        """The resource, if its objects can be owned. Raises OSError and KubeError for trouble that passes."""
        try:
            resource = await self._discovery.by_plural(target.group, target.version, target.plural)
        except KubeError as error:
            if error.transient:
                raise
            log.warning("object passed without its owner: kind not found", resource=str(target), error=str(error))
            return None
        return resource if resource is not None and ownership.ownable(resource) else None

    async def _injected(
        self,
        raw: bytes,
        creation: Creation,
        headers: CIMultiDict[str],
        on_write: OnWrite | None,
    ) -> bytes:
        content_type, kind = forward.media_type(headers), creation.resource.gvk
        inject = partial(injected, raw, content_type, creation)
        made = await asyncio.to_thread(inject) if content_type in ownership.YAML_TYPES else inject()
        if made is None:
            log.info("object passed without its owner", kind=kind.kind, content_type=content_type)
            return raw
        headers.popall(hdrs.CONTENT_LENGTH, None)
        headers[hdrs.CONTENT_TYPE] = made.content_type
        if on_write is not None:
            self._tell(creation.owner, kind, made.mechanism, made.namespace)
            await on_write(kind, made.namespace)
        return made.body

    def _tell(self, owner: Owner, kind: GroupVersionKind, mechanism: Mechanism, namespace: str) -> None:
        key = (owner.gvk, kind, mechanism, namespace)
        if key in self._told:
            return
        try:
            self._on_dependent(owner, kind, mechanism, namespace)
        except Exception:  # a watch that cannot be started must not fail the role's request
            log.exception("dependent could not be watched", kind=str(kind), namespace=namespace)
        else:
            self._told.add(key)
