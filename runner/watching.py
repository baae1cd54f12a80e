"""Which kinds are watched, and what their changes put on the queue.

One reflector serves a kind in a namespace, whether its objects are custom resources, dependents, or both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import structlog

from runner.control.queue import WorkQueue
from runner.control.triggers import Enqueue, Following, OwnWrite, of_dependent, of_resource
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.kube.reflector import Reflector
from runner.kube.store import Change
from runner.kube.weather import Phase
from runner.objects import GroupVersionKind
from runner.watches import Watch

log = structlog.get_logger(__name__)

Place = tuple[GroupVersionKind, str]
"""A kind and the namespace it is watched in; "" is all of them."""

ResourceSink = Callable[[Change], None]
"""Is told every change of a custom resource, whether or not it leads to a reconcile."""


@dataclass(slots=True)
class _Watched:
    reflector: Reflector
    ticking: asyncio.Task[None]
    watch: Watch | None = None
    following: dict[GroupVersionKind, Following] = field(default_factory=dict)


class Watching:
    """Starts a reflector for each kind somebody asks for, and turns what it tells into queue entries."""

    def __init__(
        self, client: Client, discovery: Discovery, queue: WorkQueue, own_write: OwnWrite, on_resource: ResourceSink
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._queue = queue
        self._own_write = own_write
        self._on_resource = on_resource
        self._watched: dict[Place, _Watched] = {}

    def resources(self, watch: Watch, namespaces: Iterable[str]) -> None:
        """Watch the custom resources of one watch, in each namespace given."""
        for namespace in namespaces:
            self._at((watch.gvk, namespace)).watch = watch

    def dependents(self, place: Place, following: Following) -> None:
        """Watch a kind because custom resources of another own objects of it."""
        known = self._at(place).following
        before = known.get(following.owner)
        known[following.owner] = _joined(before, following)
        if before is None:
            log.info("Watching dependents", gvk=str(place[0]), owner=str(following.owner), namespace=place[1])

    def phases(self) -> dict[Place, Phase]:
        """How it stands with each custom resource kind."""
        return {place: entry.reflector.phase for place, entry in self._watched.items() if entry.watch is not None}

    def restarts(self) -> Iterator[tuple[GroupVersionKind, int]]:
        """How often the watch of each kind had to begin anew."""
        for (gvk, _), entry in self._watched.items():
            yield gvk, entry.reflector.restarts

    async def settled(self) -> None:
        """Return once every custom resource kind is listed, or known to be absent or forbidden."""
        waiting = [entry.reflector for entry in self._watched.values() if entry.watch is not None]
        await asyncio.gather(*(reflector.settled.wait() for reflector in waiting))

    async def stop(self) -> None:
        for entry in self._watched.values():
            entry.ticking.cancel()
        await asyncio.gather(*(entry.ticking for entry in self._watched.values()), return_exceptions=True)

    def _at(self, place: Place) -> _Watched:
        entry = self._watched.get(place)
        if entry is None:
            gvk, namespace = place
            reflector = Reflector(
                self._client, self._discovery, gvk, namespace, lambda change: self._on_change(place, change)
            )
            ticking = asyncio.create_task(reflector.run(), name=f"reflector {gvk} {namespace}")
            entry = self._watched[place] = _Watched(reflector, ticking)
        return entry

    def _on_change(self, place: Place, change: Change) -> None:
        entry = self._watched[place]
        if entry.watch is not None:
            self._on_resource(change)
            self._enqueue(of_resource(change, entry.watch))
        for enqueue in of_dependent(change, entry.following.values(), self._own_write):
            self._enqueue(enqueue)

    def _enqueue(self, enqueue: Enqueue | None) -> None:
        if enqueue is not None:
            self._queue.add(enqueue.key, enqueue.trigger)


def where_to_watch(
    watch: Watch, dependent: GroupVersionKind, namespace: str, namespaces: tuple[str, ...], *, by_annotation: bool
) -> str | None:
    """The namespace ("" for all) in which dependents of that kind are to be watched, None for nowhere.

    `namespace` is the dependent's, empty where it is cluster-scoped; `namespaces` are those the operator watches.
    """
    if not watch.watch_dependents or dependent in watch.blacklist:
        return None
    if by_annotation and not namespace and not watch.watch_cluster_scoped:
        return None
    if not namespaces:
        return ""
    return namespace if namespace in namespaces else None


def _joined(before: Following | None, new: Following) -> Following:
    if before is None:
        return new
    return replace(
        before,
        by_reference=before.by_reference or new.by_reference,
        by_annotation=before.by_annotation or new.by_annotation,
    )
