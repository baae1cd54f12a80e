"""A row of the parity tables: one statement about the Go operator, and how it is checked from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Facts = Mapping[str, Any]
"""What a batch observed."""


@dataclass(frozen=True, slots=True)
class Row:
    """One statement; `id` begins with its subject.

    `seen` takes from the facts of `batch` what must equal `expected`. `mended` marks a defect of the Go operator
    that is mended here: the row tests the mended behaviour. A row without `seen` says in `reason` why.
    """

    id: str
    says: str
    batch: str = ""
    seen: Callable[[Facts], object] | None = None
    expected: object = True
    mended: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Makes the rows that the batch of this name observes."""

    name: str

    def __call__(
        self,
        id: str,  # noqa: A002  (the word of the tables)
        says: str,
        seen: Callable[[Facts], object],
        expected: object = True,
        *,
        mended: bool = False,
    ) -> Row:
        return Row(id, says, self.name, seen, expected, mended)


cli, console, inputs, life, proxy, refusals, rotation, status, triggers, values = map(
    Batch,
    ("cli", "console", "inputs", "life", "proxy", "refusals", "rotation", "status", "triggers", "values"),
)


def untested(id: str, says: str, reason: str) -> Row:  # noqa: A002  (the word of the tables)
    """A row that no batch observes, with the reason."""
    return Row(id, says, reason=reason)


def within(wanted: Mapping[str, object], found: object) -> bool:
    """Whether a map has at least these keys with these values."""
    return isinstance(found, Mapping) and all(found.get(key) == value for key, value in wanted.items())


def in_order(words: list[str], found: list[str]) -> bool:
    """Whether the words stand in the list in this order, others perhaps between them."""
    rest = iter(found)
    return all(word in rest for word in words)
