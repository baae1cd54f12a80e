"""The due entries of one kind: first in first out within a priority."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from runner.control.entry import Priority, Trigger, most_urgent
from runner.objects import ObjectKey


@dataclass(slots=True, eq=False)
class Waiting:
    """What the queue knows of a key that is to be reconciled: since when it is (or from when it will be) due.

    `order` counts entries as they became due, so that two that did at the same instant keep their order.
    """

    key: ObjectKey
    triggers: frozenset[Trigger]
    due: float
    priority: Priority
    order: int = 0

    def merge(self, trigger: Trigger) -> None:
        if trigger not in self.triggers:
            self.triggers |= {trigger}
            self.priority = most_urgent(self.triggers)


@dataclass(slots=True, eq=False)
class Kind:
    """One kind's lanes and slots. `known` counts all its keys in the queue, due or scheduled."""

    cap: int
    active: int = 0
    known: int = 0
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
        """The one that has been due longest, whatever its priority."""
        return min(self._heads(), key=lambda waiting: waiting.order, default=None)

    def _heads(self) -> Iterator[Waiting]:
        for lane in self.lanes:
            if lane:
                yield next(iter(lane.values()))
