"""What is watched, and which changes put which custom resource on the queue.

An event is only a hint: it says that something may be worth a look, never what to do. One reflector serves a
kind in a namespace, whether its objects are custom resources, dependents, or both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import structlog

from runner.config.watches import Watch
from runner.control.pause import PREFIX, asked
from runner.control.queue import WorkQueue
from runner.control.reasons import changed_metadata, content_changed, reason_of
from runner.control.request import Reason, Trigger
from runner.kube.listwatch import Change
from runner.kube.reflector import Reflector
from runner.objects import PRIMARY, PRIMARY_TYPE, GroupVersionKind, ObjectKey, ObjectMeta, is_name

OwnWrite = Callable[[str, str], bool]
"""(uid, resourceVersion): did a run write this version of the object? An empty version asks for a deletion."""

log = structlog.get_logger(__name__)
Place = tuple[GroupVersionKind, str]
"""A kind and the namespace it is watched in; "" is all of them."""
MakeReflector = Callable[[GroupVersionKind, str, Callable[[Change], None]], Reflector]


@dataclass(frozen=True, slots=True)
class Enqueue:
    """A key to add to the work queue, and why."""

    key: ObjectKey
    trigger: Trigger
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class OwnerWatch:
    """A custom resource kind whose dependents are watched, and how these name their owner."""

    owner: GroupVersionKind
    namespaced: bool
    by_reference: bool = True
    by_annotation: bool = False


def of_resource(change: Change, watch: Watch, now: datetime | None = None) -> Enqueue | None:
    """The reconcile that a change of a custom resource asks for, if any. `now` is when it was heard of."""
    meta = change.new or change.old
    now = now or datetime.now(UTC)
    trigger = _resource_trigger(change, watch, now)
    if meta is None or trigger is None or not is_name(meta.name):
        return None
    named = Trigger.CHANGED if trigger is Trigger.SELECTED else trigger
    reason = reason_of(change, named, now)
    return Enqueue(ObjectKey(change.gvk, meta.namespace, meta.name), trigger, reason)


def _resource_trigger(change: Change, watch: Watch, now: datetime) -> Trigger | None:
    old, new = change.old, change.new
    if new is None:
        return Trigger.GONE
    if new.deletion is not None:
        return _deleting_trigger(old, new, watch, now)
    if not _selected(new, watch):
        return None
    if old is None or old.uid != new.uid:
        return Trigger.START if change.listed else Trigger.CREATED
    return _edit_trigger(old, new, watch, now)


def _edit_trigger(old: ObjectMeta, new: ObjectMeta, watch: Watch, now: datetime) -> Trigger | None:
    if not _selected(old, watch):
        return Trigger.SELECTED
    if trigger := _asked(old, new, now):
        return trigger
    if content_changed(old, new):
        return Trigger.CHANGED
    if watch.watch_annotations and old.annotations != new.annotations:
        return Trigger.ANNOTATED
    return None


def _asked(old: ObjectMeta, new: ObjectMeta, now: datetime) -> Trigger | None:
    changed = set(old.annotations) ^ set(new.annotations)
    ours = any(name.startswith(PREFIX) for name, _ in changed)
    return asked(dict(old.annotations), dict(new.annotations), now) if ours else None


def _deleting_trigger(old: ObjectMeta | None, new: ObjectMeta, watch: Watch, now: datetime) -> Trigger | None:
    # The selector is not asked: what once got our finalizer must lose it again.
    if watch.finalizer is None or watch.finalizer.name not in new.finalizers:
        return None
    known = old is not None and old.uid == new.uid and old.deletion is not None
    if known and old is not None and not content_changed(old, new) and not _asked(old, new, now):
        return None
    return Trigger.DELETING


def _selected(meta: ObjectMeta, watch: Watch) -> bool:
    return watch.selector.matches(dict(meta.labels))


def of_dependent(
    change: Change,
    owner_watches: Iterable[OwnerWatch],
    own_write: OwnWrite = lambda _uid, _version: False,
    now: datetime | None = None,
) -> tuple[Enqueue, ...]:
    """The owners to reconcile because a dependent changed; owners named before and after the change count."""
    if not _dependent_matters(change, own_write):
        return ()
    metas = [meta for meta in (change.old, change.new) if meta is not None]
    keys = {key: None for kind in owner_watches for meta in metas for key in _owners(meta, kind)}
    reason = reason_of(change, Trigger.DEPENDENT, now or datetime.now(UTC))
    return tuple(Enqueue(key, Trigger.DEPENDENT, reason) for key in keys)


def _dependent_matters(change: Change, own_write: OwnWrite) -> bool:
    old, new = change.old, change.new
    if old is None:
        return False
    if new is None:
        return not own_write(old.uid, "")
    if old.uid != new.uid:
        return True  # deleted and made anew between two looks
    return _dependent_changed(old, new) and not own_write(new.uid, new.resource_version)


def _dependent_changed(old: ObjectMeta, new: ObjectMeta) -> bool:
    return content_changed(old, new) or (bool(new.generation) and bool(changed_metadata(old, new)))


def _owners(meta: ObjectMeta, kind: OwnerWatch) -> Iterator[ObjectKey]:
    if kind.by_reference:
        for ref in meta.owners:
            named = GroupVersionKind.of(ref.api_version, ref.kind)
            if (named.group, named.kind) == (kind.owner.group, kind.owner.kind) and is_name(ref.name):
                yield ObjectKey(kind.owner, meta.namespace if kind.namespaced else "", ref.name)
    if kind.by_annotation:
        yield from _primary(dict(meta.annotations), kind)


def _primary(annotations: dict[str, str], kind: OwnerWatch) -> Iterator[ObjectKey]:
    group = f".{kind.owner.group}" if kind.owner.group else ""
    if annotations.get(PRIMARY_TYPE) != kind.owner.kind + group:
        return
    namespace, slash, name = annotations.get(PRIMARY, "").partition("/")
    if not slash:
        namespace, name = "", namespace
    if bool(namespace) == kind.namespaced and is_name(name) and (not namespace or is_name(namespace)):
        yield ObjectKey(kind.owner, namespace, name)


@dataclass(slots=True)
class _Watched:
    reflector: Reflector
    ticking: asyncio.Task[None]
    watch: Watch | None = None
    owner_watches: dict[GroupVersionKind, OwnerWatch] = field(default_factory=dict)


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
    ) -> None:
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
        known[owner_watch.owner] = owner_watch if before is None else _joined(before, owner_watch)
        if before is None:
            log.info("Watching dependents", gvk=str(place[0]), owner=str(owner_watch.owner), namespace=place[1])

    def unready(self) -> list[GroupVersionKind]:
        """The custom resource kinds that are absent, or that nobody has been able to list so far."""
        entries = self._watched.items()
        return [gvk for (gvk, _), entry in entries if entry.watch is not None and not entry.reflector.ready]

    def restarts(self) -> Iterator[tuple[Place, int]]:
        """How often each watch had to begin anew."""
        for place, entry in self._watched.items():
            yield place, entry.reflector.restarts

    async def has_synced(self) -> None:
        """Return once every custom resource kind is listed, or known to be absent or forbidden."""
        waiting = [entry.reflector for entry in self._watched.values() if entry.watch is not None]
        await asyncio.gather(*(reflector.known.wait() for reflector in waiting))

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
        if of_dependent(change, entry.owner_watches.values()):
            task = asyncio.create_task(self._dependent_changed(entry, change))
            self._settling.add(task)
            task.add_done_callback(self._settling.discard)

    async def _dependent_changed(self, entry: _Watched, change: Change) -> None:
        await self._settle()
        for enqueue in of_dependent(change, entry.owner_watches.values(), self._own_write):
            self._enqueue(enqueue)

    def _enqueue(self, enqueue: Enqueue | None) -> None:
        if enqueue is not None:
            self._queue.add(enqueue.key, enqueue.trigger, reason=enqueue.reason)


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


def _joined(before: OwnerWatch, new: OwnerWatch) -> OwnerWatch:
    return replace(
        before,
        by_reference=before.by_reference or new.by_reference,
        by_annotation=before.by_annotation or new.by_annotation,
    )
