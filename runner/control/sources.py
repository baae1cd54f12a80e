"""What is watched. One reflector serves a kind in a namespace, whoever is concerned by its objects."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field

import structlog

from runner.config.watches import Watch
from runner.control.changes import Enqueue, OwnerWatch, OwnWrite, is_own, joined, of_dependent, of_resource
from runner.control.queue import WorkQueue
from runner.kube.listwatch import Change
from runner.kube.reflector import Phase, Reflector
from runner.objects import GroupVersionKind, ObjectKey

log = structlog.get_logger(__name__)
_LOOK_EVERY = 1.0
"""Seconds between two looks at what keeps kinds from being watched."""
Place = tuple[GroupVersionKind, str]
"""A kind and the namespace it is watched in; "" is all of them."""
MakeReflector = Callable[[GroupVersionKind, str, Callable[[Change], None]], Reflector]
Asked = Callable[[Change], tuple[Enqueue, ...]]
"""The reconciles that a change asks for, unless a run made it."""
Look = Callable[[Change, OwnerWatch], None]
"""Told of every change of a dependent, also of its status alone."""


@dataclass(slots=True)
class _Watched:
    reflector: Reflector
    ticking: asyncio.Task[None]
    watch: Watch | None = None
    owner_watches: dict[GroupVersionKind, OwnerWatch] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def asks(self, change: Change) -> list[Enqueue]:
        by_others = [enqueue for asked in self.asked for enqueue in asked(change)]
        return [*of_dependent(change, self.owner_watches.values()), *by_others]


class Watching:
    """Starts a reflector for each kind somebody asks for, and turns what it tells into queue entries.

    `on_resource` is told every change of a custom resource, whether or not it leads to a reconcile. `settle` waits
    until `own_write` knows of the runs' writes under way.
    """

    def __init__(
        self,
        reflector: MakeReflector,
        queue: WorkQueue,
        on_resource: Callable[[Change], None],
        *,
        own_write: OwnWrite,
        settle: Callable[[], Awaitable[None]],
        look: Look | None = None,
    ) -> None:
        self._look = look
        self._reflector = reflector
        self._queue = queue
        self._own_write = own_write
        self._settle = settle
        self._on_resource = on_resource
        self._watched: dict[Place, _Watched] = {}
        self._settling: set[asyncio.Task[None]] = set()

    def resources(self, watch: Watch, namespaces: Iterable[str]) -> None:
        """Watch the custom resources of one watch, in each namespace given."""
        for namespace in namespaces:
            self._at((watch.gvk, namespace)).watch = watch

    def dependents(self, place: Place, owner_watch: OwnerWatch) -> None:
        """Watch a kind because custom resources of another own objects of it."""
        known = self._at(place).owner_watches
        before = known.get(owner_watch.owner)
        known[owner_watch.owner] = owner_watch if before is None else joined(before, owner_watch)
        if before is None:
            log.info("Watching dependents", gvk=str(place[0]), owner=str(owner_watch.owner), namespace=place[1])

    def listen(self, place: Place, asked: Asked) -> None:
        """Watch a kind because its objects matter to others than their owners."""
        self._at(place).asked.append(asked)

    def resource_keys(self, gvk: GroupVersionKind) -> Iterator[ObjectKey]:
        """The custom resources of that kind, as far as they are known."""
        for (kind, _), entry in self._watched.items():
            if kind == gvk and entry.watch is not None:
                for meta in entry.reflector.store:
                    if entry.watch.selector.matches(dict(meta.labels)):
                        yield ObjectKey(gvk, meta.namespace, meta.name)

    def told(self, key: ObjectKey) -> str | None:
        """The UID of the custom resource that was told of last, empty for none; None where nobody watches."""
        for namespace in ("", key.namespace):
            entry = self._watched.get((key.gvk, namespace))
            if entry is not None and entry.watch is not None:
                meta = entry.reflector.store.get(key.namespace, key.name)
                return meta.uid if meta is not None else ""
        return None

    def resource_reflectors(self) -> list[Reflector]:
        """Those that watch custom resources; one that is not `ready` keeps the operator from being it."""
        return [entry.reflector for entry in self._watched.values() if entry.watch is not None]

    def reflectors(self) -> Iterator[tuple[Reflector, bool, bool]]:
        """Each, and whether its objects are custom resources, and dependents of some."""
        for entry in self._watched.values():
            yield entry.reflector, entry.watch is not None, bool(entry.owner_watches)

    async def has_synced(self) -> None:
        """Return once every custom resource kind is listed, or known to be absent or forbidden."""
        await asyncio.gather(*(reflector.known.wait() for reflector in self.resource_reflectors()))

    async def keep_telling(self, tell: Callable[[list[Reflector], float], bool]) -> None:
        """Have `tell` say what keeps kinds from being watched, for as long as it does or `tell` has more to say.

        It is given the seconds since this began.
        """
        began, again = time.monotonic(), False
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            kinds = self.resource_reflectors()
            if again or any(kind.phase is not Phase.WATCHING for kind in kinds):
                again = tell(kinds, time.monotonic() - began)

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
        if self._look is not None:
            for owner_watch in entry.owner_watches.values():
                self._look(change, owner_watch)
        if not is_own(change, self._own_write) and (asked := entry.asks(change)):
            task = asyncio.create_task(self._unless_own(change, asked))
            self._settling.add(task)
            task.add_done_callback(self._settling.discard)

    async def _unless_own(self, change: Change, asked: Iterable[Enqueue]) -> None:
        await self._settle()
        if not is_own(change, self._own_write):
            for enqueue in asked:
                self._enqueue(enqueue)

    def _enqueue(self, enqueue: Enqueue | None) -> None:
        if enqueue is not None:
            log.debug("Enqueued", key=str(enqueue.key), trigger=str(enqueue.trigger))
            self._queue.add(enqueue.key, enqueue.trigger, reason=enqueue.reason)
