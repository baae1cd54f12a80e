"""What is known of every object of one kind, and what each new piece of knowledge changes.

A list and a watch tell the same story with gaps; the Store turns both into the same three words, so that
whoever listens cannot tell whether a deletion was watched or happened while nobody looked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from runner.objects import GroupVersionKind, ObjectMeta

Name = tuple[str, str]


class What(StrEnum):
    """What happened to an object."""

    ADDED = "added"
    UPDATED = "updated"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Change:
    """One object's change. ADDED has no `old`; GONE has no `new`, and its `old` is the last state known.

    `listed`: found by the first list, so part of the backlog at start-up and no news.
    """

    what: What
    gvk: GroupVersionKind
    old: ObjectMeta | None
    new: ObjectMeta | None
    listed: bool = False


class Store:
    """The objects of one kind (in one namespace or all), by namespace and name."""

    def __init__(self, gvk: GroupVersionKind) -> None:
        self._gvk = gvk
        self._objects: dict[Name, ObjectMeta] = {}

    def get(self, namespace: str, name: str) -> ObjectMeta | None:
        return self._objects.get((namespace, name))

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[ObjectMeta]:
        return iter(tuple(self._objects.values()))

    def put(self, new: ObjectMeta, *, listed: bool = False) -> list[Change]:
        """Knows `new` from now on. The same name with another uid is another object: one goes, one comes."""
        name = (new.namespace, new.name)
        old = self._objects.get(name)
        if old is not None and old.uid == new.uid:
            if old.resource_version == new.resource_version:
                return []
            self._objects[name] = new
            return [Change(What.UPDATED, self._gvk, old, new)]
        self._objects[name] = new
        gone = [Change(What.GONE, self._gvk, old, None)] if old is not None else []
        return [*gone, Change(What.ADDED, self._gvk, None, new, listed)]

    def remove(self, last: ObjectMeta) -> list[Change]:
        """Forgets the object; `last` is its state when it was deleted. Nothing if another one has its name."""
        name = (last.namespace, last.name)
        old = self._objects.get(name)
        if old is None or old.uid != last.uid:
            return []
        del self._objects[name]
        return [Change(What.GONE, self._gvk, last, None)]

    def keep_only(self, names: set[Name]) -> list[Change]:
        """Forgets what a complete list did not contain."""
        gone = [name for name in self._objects if name not in names]
        return [Change(What.GONE, self._gvk, self._objects.pop(name), None) for name in gone]
