"""Which kinds are watched, and what their changes put on the queue.

One reflector serves a kind in a namespace, whether its objects are custom resources, dependents, or both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import structlog

from runner.config.watches import Watch
from runner.control.queue import WorkQueue
from runner.control.triggers import Enqueue, Following, OwnWrite, of_dependent, of_resource
from runner.kube.listwatch import Change
from runner.kube.reflector import Reflector
from runner.objects import GroupVersionKind

log = structlog.get_logger(__name__)

Place = tuple[GroupVersionKind, str]
"""A kind and the namespace it is watched in; "" is all of them."""

MakeReflector = Callable[[GroupVersionKind, str, Callable[[Change], None]], Reflector]


@dataclass(frozen=True, slots=True)
class OwnWrites:
    """Which changes the runs made themselves; `settle` waits until that is known of writes under way."""

    made: OwnWrite
    settle: Callable[[], Awaitable[None]]


@dataclass(slots=True)
class _Watched:
    reflector: Reflector
    ticking: asyncio.Task[None]
    watch: Watch | None = None
    following: dict[GroupVersionKind, Following] = field(default_factory=dict)


class Watching:
    """Starts a reflector for each kind somebody asks for, and turns what it tells into queue entries.

    `on_resource` is told every change of a custom resource, whether or not it leads to a reconcile.
    """

    def __init__(
        self,
        reflector: MakeReflector,
        queue: WorkQueue,
        own_writes: OwnWrites,
        on_resource: Callable[[Change], None],
    ) -> None:
        self._reflector = reflector
        self._queue = queue
        self._own_writes = own_writes
        self._on_resource = on_resource
        self._watched: dict[Place, _Watched] = {}
        self._settling: set[asyncio.Task[None]] = set()

    def resources(self, watch: Watch, namespaces: Iterable[str]) -> None:
        """Watch the custom resources of one watch, in each namespace given."""
        for namespace in namespaces:
            self._at((watch.gvk, namespace)).watch = watch

    def dependents(self, place: Place, following: Following) -> None:
        """Watch a kind because custom resources of another own objects of it."""
        known = self._at(place).following
        before = known.get(following.owner)
        known[following.owner] = following if before is None else _joined(before, following)
        if before is None:
            log.info("Watching dependents", gvk=str(place[0]), owner=str(following.owner), namespace=place[1])

    def unready(self) -> list[GroupVersionKind]:
        """The custom resource kinds that are absent, or that nobody has been able to list so far."""
        entries = self._watched.items()
        return [gvk for (gvk, _), entry in entries if entry.watch is not None and not entry.reflector.ready]

    def restarts(self) -> Iterator[tuple[Place, int]]:
        """How often each watch had to begin anew."""
        for place, entry in self._watched.items():
            yield place, entry.reflector.restarts

    async def settled(self) -> None:
        """Return once every custom resource kind is listed, or known to be absent or forbidden."""
        waiting = [entry.reflector for entry in self._watched.values() if entry.watch is not None]
        await asyncio.gather(*(reflector.settled.wait() for reflector in waiting))

    async def stop(self) -> None:
        ticking = [*(entry.ticking for entry in self._watched.values()), *self._settling]
        for task in ticking:
            task.cancel()
        await asyncio.gather(*ticking, return_exceptions=True)

    def _at(self, place: Place) -> _Watched:
        entry = self._watched.get(place)
        if entry is None:
            reflector = self._reflector(*place, lambda change: self._on_change(place, change))
            ticking = asyncio.create_task(reflector.run(), name=f"reflector {place[0]} {place[1]}")
            entry = self._watched[place] = _Watched(reflector, ticking)
        return entry

    def _on_change(self, place: Place, change: Change) -> None:
        entry = self._watched[place]
        if entry.watch is not None:
            self._enqueue(of_resource(change, entry.watch))
            self._on_resource(change)
        if of_dependent(change, entry.following.values()):
            task = asyncio.create_task(self._dependent_changed(entry, change))
            self._settling.add(task)
            task.add_done_callback(self._settling.discard)

    async def _dependent_changed(self, entry: _Watched, change: Change) -> None:
        await self._own_writes.settle()
        for enqueue in of_dependent(change, entry.following.values(), self._own_writes.made):
            self._enqueue(enqueue)

    def _enqueue(self, enqueue: Enqueue | None) -> None:
        if enqueue is not None:
            self._queue.add(enqueue.key, enqueue.trigger)


def where_to_watch(
    watch: Watch,
    dependent: GroupVersionKind,
    namespace: str,
    namespaces: tuple[str, ...],
    *,
    by_annotation: bool,
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


def _joined(before: Following, new: Following) -> Following:
    return replace(
        before,
        by_reference=before.by_reference or new.by_reference,
        by_annotation=before.by_annotation or new.by_annotation,
    )
