"""Why a key waits in the queue, and how urgent that makes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from runner.objects import ObjectKey


class Priority(IntEnum):
    """Who goes first; a lower number is more urgent."""

    FINALIZER = 0
    CHANGE = 1
    DEPENDENT = 2
    RETRY = 3
    BACKGROUND = 4


class Trigger(StrEnum):
    """Why a custom resource is to be reconciled."""

    DELETING = "deleting"
    GONE = "gone"
    CREATED = "created"
    CHANGED = "changed"
    ANNOTATED = "annotated"
    SELECTED = "selected"
    DEPENDENT = "dependent"
    REQUEUED = "requeued"
    RETRY = "retry"
    PERIOD = "period"
    BACKLOG = "backlog"

    @property
    def priority(self) -> Priority:
        return _PRIORITIES[self]


_PRIORITIES = {
    Trigger.DELETING: Priority.FINALIZER,
    Trigger.GONE: Priority.FINALIZER,
    Trigger.CREATED: Priority.CHANGE,
    Trigger.CHANGED: Priority.CHANGE,
    Trigger.ANNOTATED: Priority.CHANGE,
    Trigger.SELECTED: Priority.CHANGE,
    Trigger.DEPENDENT: Priority.DEPENDENT,
    Trigger.REQUEUED: Priority.RETRY,
    Trigger.RETRY: Priority.RETRY,
    Trigger.PERIOD: Priority.BACKGROUND,
    Trigger.BACKLOG: Priority.BACKGROUND,
}


def most_urgent(triggers: Iterable[Trigger]) -> Priority:
    return min(_PRIORITIES[trigger] for trigger in triggers)


@dataclass(frozen=True, slots=True)
class Entry:
    """What a worker takes from the queue; `waited` is in seconds since the entry was due."""

    key: ObjectKey
    triggers: frozenset[Trigger]
    waited: float = 0.0

    @property
    def priority(self) -> Priority:
        return most_urgent(self.triggers)
