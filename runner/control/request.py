"""A queue's request: which key, why it waits, and how urgent that makes it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from runner.objects import ObjectKey


class Priority(IntEnum):
    """Who goes first; a lower number is more urgent."""

    FINALIZER = 0
    CHANGE = 1
    DEPENDENT = 2
    RETRY = 3
    BACKGROUND = 4
    CHECK = 5


class Trigger(StrEnum):
    """Why a custom resource is to be reconciled."""

    DELETING = "deleting"
    GONE = "gone"
    CREATED = "created"
    CHANGED = "changed"
    ANNOTATED = "annotated"
    SELECTED = "selected"
    REQUESTED = "requested"
    CONTENT = "content"
    REFERENCE = "reference"
    DEPENDENT = "dependent"
    DEPENDENT_STATUS = "dependent-status"
    REQUEUED = "requeued"
    RETRY = "retry"
    PERIOD = "period"
    START = "start"
    DRIFT = "drift"

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
    Trigger.REQUESTED: Priority.CHANGE,
    Trigger.CONTENT: Priority.CHANGE,
    Trigger.REFERENCE: Priority.DEPENDENT,
    Trigger.DEPENDENT: Priority.DEPENDENT,
    Trigger.DEPENDENT_STATUS: Priority.DEPENDENT,
    Trigger.REQUEUED: Priority.RETRY,
    Trigger.RETRY: Priority.RETRY,
    Trigger.PERIOD: Priority.BACKGROUND,
    Trigger.START: Priority.BACKGROUND,
    Trigger.DRIFT: Priority.CHECK,
}
DRIFT_ONLY = frozenset({Trigger.DRIFT})
"""Of a request that asks for a check run, and for nothing real."""
MOST_REASONS = 10
"""Kept of one request; of the rest only how many there are."""


def most_urgent(triggers: Iterable[Trigger]) -> Priority:
    return min(_PRIORITIES[trigger] for trigger in triggers)


@dataclass(frozen=True, slots=True)
class Reason:
    """What happened: to which object, by which field manager, to which fields, and when; empty is not known.

    `time` is in RFC 3339. Two that differ in it alone are one.
    """

    trigger: Trigger
    object: ObjectKey | None = None
    manager: str = ""
    fields: tuple[str, ...] = ()
    time: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Reasons:
    """The first reasons of a request, and how many more there are."""

    first: tuple[Reason, ...]
    more: int = 0

    @classmethod
    def of(cls, trigger: Trigger, reason: Reason | None = None) -> Reasons:
        return cls((reason,)) if reason is not None else _BARE[trigger]

    def __add__(self, later: Reasons) -> Reasons:
        new = [reason for reason in later.first if reason not in self.first]
        kept = (*self.first, *new)
        return Reasons(kept[:MOST_REASONS], self.more + later.more + max(0, len(kept) - MOST_REASONS))

    @property
    def most_urgent(self) -> Trigger:
        """The trigger of the most urgent one; of several, the first."""
        return min((reason.trigger for reason in self.first), key=_PRIORITIES.__getitem__)


NO_REASONS = Reasons(())
_BARE = {trigger: Reasons((Reason(trigger),)) for trigger in Trigger}
"""Most requests wait for their period: one object serves them all."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a worker takes from the queue; `waited` is in seconds since the request was due.

    `triggers` holds also what was to come later, such as the period; `reasons` only what made it due.
    """

    key: ObjectKey
    triggers: frozenset[Trigger]
    waited: float = 0.0
    reasons: Reasons = NO_REASONS

    @property
    def priority(self) -> Priority:
        return most_urgent(self.triggers)


@dataclass(slots=True, eq=False)
class Waiting:
    """What the queue knows of a key that is to be reconciled: since when it is (or from when it will be) due.

    `order` counts requests as they became due, so that two that did at the same instant keep their order.
    """

    key: ObjectKey
    triggers: frozenset[Trigger]
    due: float
    priority: Priority
    reasons: Reasons
    order: int = 0

    def merge(self, trigger: Trigger) -> None:
        if trigger not in self.triggers:
            self.triggers |= {trigger}
            self.priority = most_urgent(self.triggers)

    def because(self, reasons: Reasons, due: float, now: float) -> None:
        """Take note of why it is due; what is to come later than the rest is no reason yet."""
        if self.due <= now:
            self.reasons += reasons if due <= now else NO_REASONS
        elif due < self.due:
            self.reasons = reasons


def age(waiting: Waiting) -> tuple[bool, int]:
    """Sorts by how long they have been due, checks last."""
    return waiting.priority is Priority.CHECK, waiting.order


@dataclass(slots=True, eq=False)
class Kind:
    """One kind's lanes and slots. `known` counts all its keys in the queue, due or scheduled.

    `added` and `retried` count all requests that became due, and that were put back after a failure.
    """

    cap: int
    active: int = 0
    known: int = 0
    added: int = 0
    retried: int = 0
    lanes: tuple[OrderedDict[ObjectKey, Waiting], ...] = field(
        default_factory=lambda: tuple(OrderedDict() for _ in Priority)
    )

    def put(self, waiting: Waiting) -> None:
        self.lanes[waiting.priority][waiting.key] = waiting

    def remove(self, waiting: Waiting) -> None:
        del self.lanes[waiting.priority][waiting.key]

    def __len__(self) -> int:
        return sum(map(len, self.lanes))

    def first(self) -> Waiting | None:
        """The most urgent one, and of those the one that came first."""
        return next(self._heads(), None)

    def oldest(self) -> Waiting | None:
        """The one that has been due longest, whatever its priority; a check only where nothing else is due."""
        return min(self._heads(), key=age, default=None)

    def _heads(self) -> Iterator[Waiting]:
        for lane in self.lanes:
            if lane:
                yield next(iter(lane.values()))
