"""What a change of a watched object asks for: which custom resources are to be reconciled, and why. Pure.

An event is only a hint: it says that something may be worth a look, never what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from runner.config.watches import Watch
from runner.control.request import Trigger
from runner.kube.listwatch import Change
from runner.objects import MODE, PRIMARY, PRIMARY_TYPE, GroupVersionKind, ObjectKey, ObjectMeta, is_name

OwnWrite = Callable[[str, str], bool]
"""(uid, resourceVersion): did a run write this version of the object? An empty version asks for a deletion."""

STEERING = (MODE,)
"""Annotations that take effect at once, whatever `watchAnnotationsChanges` says."""
_BOOKKEEPING = (
    "deployment.kubernetes.io/",
    "endpoints.kubernetes.io/",
    "control-plane.alpha.kubernetes.io/",
    "pv.kubernetes.io/",
    "volume.kubernetes.io/",
)
"""Annotations that Kubernetes' own controllers write as a kind of status."""


@dataclass(frozen=True, slots=True)
class Enqueue:
    """A key to add to the work queue, and why."""

    key: ObjectKey
    trigger: Trigger


@dataclass(frozen=True, slots=True)
class OwnerWatch:
    """A custom resource kind whose dependents are watched, and how these name their owner."""

    owner: GroupVersionKind
    namespaced: bool
    by_reference: bool = True
    by_annotation: bool = False


def of_resource(change: Change, watch: Watch) -> Enqueue | None:
    """The reconcile that a change of a custom resource asks for, if any."""
    meta = change.new or change.old
    trigger = _resource_trigger(change, watch)
    if meta is None or trigger is None or not is_name(meta.name):
        return None
    return Enqueue(ObjectKey(change.gvk, meta.namespace, meta.name), trigger)


def _resource_trigger(change: Change, watch: Watch) -> Trigger | None:
    old, new = change.old, change.new
    if new is None:
        return Trigger.GONE
    if new.deletion is not None:
        return _deleting_trigger(old, new, watch)
    if not _selected(new, watch):
        return None
    if old is None or old.uid != new.uid:
        return Trigger.BACKLOG if change.listed else Trigger.CREATED
    return _edit_trigger(old, new, watch)


def _edit_trigger(old: ObjectMeta, new: ObjectMeta, watch: Watch) -> Trigger | None:
    if not _selected(old, watch):
        return Trigger.SELECTED
    if _spec_changed(old, new):
        return Trigger.CHANGED
    if old.annotations != new.annotations and (watch.watch_annotations or _steered(old, new)):
        return Trigger.ANNOTATED
    return None


def _steered(old: ObjectMeta, new: ObjectMeta) -> bool:
    """Whether an annotation was set, changed or removed that says what is to be done at once."""
    before, after = dict(old.annotations), dict(new.annotations)
    return any(before.get(name) != after.get(name) for name in STEERING)


def _deleting_trigger(old: ObjectMeta | None, new: ObjectMeta, watch: Watch) -> Trigger | None:
    # The selector is not asked: what once got our finalizer must lose it again.
    if watch.finalizer is None or watch.finalizer.name not in new.finalizers:
        return None
    known = old is not None and old.uid == new.uid and old.deletion is not None
    if known and old is not None and not (_spec_changed(old, new) or _steered(old, new)):
        return None
    return Trigger.DELETING


def _selected(meta: ObjectMeta, watch: Watch) -> bool:
    return watch.selector.matches(dict(meta.labels))


def _spec_changed(old: ObjectMeta, new: ObjectMeta) -> bool:
    if old.generation or new.generation:
        return old.generation != new.generation
    return _content_changed(old, new)


def _content_changed(old: ObjectMeta, new: ObjectMeta) -> bool:
    """For kinds without generation: did more than the status change?

    Entries of managedFields carry the second of a write, so a second edit within one second changes no digest.
    """
    if old.resource_version == new.resource_version:
        return False
    return old.content_digest != new.content_digest or old.status_digest == new.status_digest


def nobody(_uid: str, _version: str) -> bool:
    return False


def of_dependent(
    change: Change, owner_watches: Iterable[OwnerWatch], own_write: OwnWrite = nobody
) -> tuple[Enqueue, ...]:
    """The owners to reconcile because a dependent changed; owners named before and after the change count."""
    if not matters(change, own_write):
        return ()
    metas = [meta for meta in (change.old, change.new) if meta is not None]
    keys = {key: None for kind in owner_watches for meta in metas for key in owners(meta, kind)}
    return tuple(Enqueue(key, Trigger.DEPENDENT) for key in keys)


def matters(change: Change, own_write: OwnWrite) -> bool:
    """Whether an object of somebody's interest was edited or deleted, by anybody but a run."""
    old, new = change.old, change.new
    if old is None:
        return False
    if new is None:
        return not own_write(old.uid, "")
    if old.uid != new.uid:
        return True  # deleted and made anew between two looks
    return _dependent_changed(old, new) and not own_write(new.uid, new.resource_version)


def _dependent_changed(old: ObjectMeta, new: ObjectMeta) -> bool:
    if old.generation or new.generation:
        return _remembered(old) != _remembered(new)
    return _content_changed(old, new)


def _remembered(meta: ObjectMeta) -> tuple[object, ...]:
    annotations = tuple(item for item in meta.annotations if not item[0].startswith(_BOOKKEEPING))
    return meta.generation, meta.labels, annotations, meta.owners, meta.finalizers, meta.deletion


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
