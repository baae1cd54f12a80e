"""Reads the table of docs/faults.md; run as a program it prints the tests of it, as pytest takes them."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "faults.md"
MISSING = "missing"
_TEST = re.compile(r"`([\w/]+\.py::\w+)`")


@dataclass(frozen=True)
class Fault:
    """One row: what is done, which invariants have to hold, and the tests that show it, as paths below tests/.

    Where `missing` says what nobody has tested, the tests, if any, show a part of it.
    """

    name: str
    done: str
    holds: tuple[str, ...]
    tests: tuple[str, ...]
    missing: str


def faults(text: str) -> list[Fault]:
    """Every row of the table. Raises ValueError for one that has neither a test nor says what is missing."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    return [_fault([cell.strip() for cell in cells[1:]]) for cells in rows]


def _fault(cells: list[str]) -> Fault:
    name, done, holds, shown = cells
    before, _, missing = shown.partition(f"{MISSING}: ")
    tests = tuple(_TEST.findall(before))
    if not (tests or missing):
        raise ValueError(f"docs/faults.md: {name!r} has no test and does not say that one is {MISSING}")
    return Fault(name, done, tuple(re.findall(r"I\d+", holds)), tests, missing)


if __name__ == "__main__":
    *rows, soak = faults(PAGE.read_text(encoding="utf-8"))
    # What takes longest begins first: of several processes one would be left alone with it.
    found = (f"tests/{test}" for fault in (soak, *rows) for test in fault.tests)
    sys.stdout.write("\n".join(dict.fromkeys(found)) + "\n")
