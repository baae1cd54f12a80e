"""Which custom resources refer to which objects, and whom a change of such an object therefore concerns.

Objects that a custom resource names are known from when it was read last; nothing of the objects themselves is
read or kept but their metadata.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from runner.config.expressions import search
from runner.config.watches import Reference, Watch
from runner.control.changes import Enqueue, matters
from runner.control.reasons import clean, reason_of
from runner.control.request import Reason, Trigger
from runner.control.sources import Watching
from runner.errors import ExpressionError
from runner.kube.listwatch import Change
from runner.objects import Body, GroupVersionKind, ObjectKey, is_name

MOST = 1000
"""So many objects one custom resource may name by one expression."""
_MOST_NAMED = 3
"""So many objects one warning names."""
NOT_A_NAME = "is no name, no list of names, nor of {name, namespace}"
Name = tuple[str, str]
"""Namespace ("" for a cluster-scoped object) and name."""


class References:
    """The references of every watch."""

    def __init__(self, watches: Mapping[GroupVersionKind, Watch]) -> None:
        self._watches = watches
        self._referring: dict[tuple[GroupVersionKind, Name], dict[ObjectKey, None]] = defaultdict(dict)
        self._names: dict[ObjectKey, frozenset[tuple[GroupVersionKind, Name]]] = {}

    def follow(self, watching: Watching, namespaces: tuple[str, ...]) -> None:
        """Begin to watch what custom resources may refer to, in these namespaces (none: in all)."""
        for watch in self._watches.values():
            for reference in watch.references:
                concerns = partial(self._concerned, watching, watch.gvk, reference)
                for namespace in namespaces or ("",):
                    watching.listen((reference.gvk, namespace), partial(_asked, concerns))

    def read(self, key: ObjectKey, watch: Watch, body: Body) -> tuple[str, ...]:
        """Take note of what the object names now; returns what is wrong with it."""
        named, warnings = set(), []
        for reference in watch.references:
            names, wrong = names_of(reference, key, body)
            named |= {(reference.gvk, name) for name in names}
            warnings += [f"{reference.gvk.kind} by {reference.names}: {wrong}"] if wrong else []
        self.forget(key)
        self._names[key] = frozenset(named)
        for one in named:
            self._referring[one][key] = None
        return tuple(warnings)

    def forget(self, key: ObjectKey) -> None:
        for one in self._names.pop(key, ()):
            keys = self._referring[one]
            del keys[key]
            if not keys:
                del self._referring[one]

    def _concerned(
        self, watching: Watching, gvk: GroupVersionKind, reference: Reference, change: Change
    ) -> Iterator[ObjectKey]:
        metas = [meta for meta in (change.old, change.new) if meta is not None]
        if reference.names:
            for key in self._referring.get((reference.gvk, (metas[0].namespace, metas[0].name)), ()):
                if key.gvk == gvk:
                    yield key
        elif any(reference.selector.matches(dict(meta.labels)) for meta in metas):
            everywhere = reference.all_namespaces or not metas[0].namespace
            for key in watching.resource_keys(gvk):
                if everywhere or key.namespace == metas[0].namespace:
                    yield key


def _asked(concerned: Callable[[Change], Iterable[ObjectKey]], change: Change) -> tuple[Enqueue, ...]:
    """The reconciles that a change of a referenced object asks for; its appearance counts, unless at the start."""
    if change.listed if change.old is None else not matters(change):
        return ()
    reason = reason_of(change, Trigger.REFERENCE, datetime.now(UTC))
    return tuple(Enqueue(key, Trigger.REFERENCE, _for(key, reason)) for key in concerned(change))


def _for(key: ObjectKey, reason: Reason) -> Reason:
    """The reason as the custom resource may know it: of an object elsewhere neither its writer nor its fields.

    Whoever reads the custom resource's Events has no need to be allowed to read that object.
    """
    own = reason.object is not None and reason.object.namespace == key.namespace
    return reason if own else replace(reason, manager="", fields=())


def names_of(reference: Reference, key: ObjectKey, body: Body) -> tuple[frozenset[Name], str]:
    """The objects that a custom resource may name and names, and what is wrong with others; "" if nothing is.

    A bare name is that of an object in its own namespace, or of a cluster-scoped one.
    """
    if not reference.names:
        return frozenset(), ""
    try:
        value = search(reference.names, body)
    except ExpressionError as error:
        return frozenset(), str(error)
    items = value if isinstance(value, list) else [] if value is None else [value]
    read = [_names(item, key.namespace) for item in items[:MOST] if item is not None]
    names = {name for some in read for name in some}
    foreign = {name for name in names if name[0] not in ("", key.namespace)}
    if reference.all_namespaces:
        foreign = set()
    problems = [
        f"names more than {MOST} objects; the first {MOST} count" if len(items) > MOST else "",
        NOT_A_NAME if not all(read) else "",
        _elsewhere(foreign, key.namespace),
    ]
    return frozenset(names - foreign), "; ".join(filter(None, problems))


def _elsewhere(names: set[Name], namespace: str) -> str:
    """Say that a custom resource in `namespace` may not name these objects."""
    if not names:
        return ""
    first = ", ".join(f"{clean(place)}/{clean(name)}" for place, name in sorted(names)[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    own = (
        f"outside of namespace {namespace}" if namespace else "in a namespace, and the custom resource is in none"
    )
    return (
        f"names {first}{more} {own}: not watched, unless the operator's author writes `namespaces: all` beside "
        "`names` in watches.yaml"
    )


def _names(item: object, own_namespace: str) -> list[Name]:
    if isinstance(item, Mapping):
        name, namespace = item.get("name"), item.get("namespace", own_namespace)
        usable = isinstance(name, str) and isinstance(namespace, str) and is_name(name)
        return [(str(namespace), str(name))] if usable and (not namespace or is_name(str(namespace))) else []
    if not isinstance(item, str) or not is_name(item):
        return []
    return [(own_namespace, item), ("", item)] if own_namespace else [("", item)]
