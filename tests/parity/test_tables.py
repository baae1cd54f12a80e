"""The tables themselves: no row is left out silently.

They hold every statement about the Go operator's behaviour that can be seen from outside. `make parity
OPERATOR=...` puts another executable in this operator's place.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.parity.tables import ROWS


def test_every_row_is_tested_or_says_why_not() -> None:
    assert [row.id for row in ROWS if bool(row.seen) == bool(row.reason)] == []


def test_every_tested_row_belongs_to_a_batch_that_is_observed() -> None:
    observed = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert [row.id for row in ROWS if row.seen and row.batch not in observed] == []


def test_every_row_has_an_id_of_its_own() -> None:
    assert [name for name, count in Counter(row.id for row in ROWS).items() if count > 1] == []


def test_every_reason_that_names_a_test_names_one_that_exists() -> None:
    words = (word.strip(",.:;") for row in ROWS for word in row.reason.split())
    named = {word for word in words if word.startswith(("tests/", "docs/"))}
    root = Path(__file__).parents[2]
    assert [name for name in sorted(named) if not list(root.glob(f"{name}*"))] == []
