"""What a change of a watched object asks for: which custom resources are to be reconciled, and why. Pure.

An event is only a hint: it says that something may be worth a look, never what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from runner.config.watches import Watch
from runner.control.pause import PLACES, asked
from runner.control.reasons import changed_metadata, content_changed, reason_of
from runner.control.request import Reason, Trigger
from runner.kube.listwatch import Change
from runner.objects import PREFIX, PRIMARY, PRIMARY_TYPE, GroupVersionKind, ObjectKey, ObjectMeta, is_name

OwnWrite = Callable[[str, str], bool]
"""(uid, resourceVersion): did a run write this version of the object? An empty version asks for a deletion."""


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
    if watch.watch_annotations and _annotations(old) != _annotations(new):
        return Trigger.ANNOTATED
    return None


def _annotations(meta: ObjectMeta) -> list[tuple[str, str]]:
    """Those that others write."""
    return [pair for pair in meta.annotations if pair[0] != PLACES]


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
    now: datetime | None = None,
) -> tuple[Enqueue, ...]:
    """The owners to reconcile because a dependent changed; owners named before and after the change count."""
    if not matters(change):
        return ()
    metas = [meta for meta in (change.old, change.new) if meta is not None]
    keys = {key: None for kind in owner_watches for meta in metas for key in owners(meta, kind)}
    if not keys:  # most objects of a watched kind are nobody's dependents here
        return ()
    reason = reason_of(change, Trigger.DEPENDENT, now or datetime.now(UTC))
    return tuple(Enqueue(key, Trigger.DEPENDENT, reason) for key in keys)


def matters(change: Change) -> bool:
    """Whether an object of somebody's interest was edited or deleted."""
    old, new = change.old, change.new
    if old is None or new is None:
        return old is not None
    return old.uid != new.uid or _dependent_changed(old, new)  # another uid: made anew between two looks


def is_own(change: Change, own_write: OwnWrite) -> bool:
    """Whether a run made this change."""
    old, new = change.old, change.new
    if new is None:
        return old is not None and own_write(old.uid, "")
    return (old is None or old.uid == new.uid) and own_write(new.uid, new.resource_version)


def _dependent_changed(old: ObjectMeta, new: ObjectMeta) -> bool:
    return content_changed(old, new) or (bool(new.generation) and bool(changed_metadata(old, new)))


def owners(meta: ObjectMeta, kind: OwnerWatch) -> Iterator[ObjectKey]:
    """The custom resources of that kind that the object names as its owners."""
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


def joined(before: OwnerWatch, new: OwnerWatch) -> OwnerWatch:
    return replace(
        before,
        by_reference=before.by_reference or new.by_reference,
        by_annotation=before.by_annotation or new.by_annotation,
    )
