"""Every statement about the Go operator's behaviour that can be seen from outside, one test each.

The statements are the rows of `tables/`; what they are checked against is observed by a few operator processes, in
`batches/`. `make parity OPERATOR=...` puts another executable in this operator's place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.rows import Row
from tests.parity.tables import ROWS


def _parameter(row: Row) -> Any:
    return pytest.param(row, id=row.id, marks=pytest.mark.xdist_group(f"parity-{row.batch}"))


@pytest.mark.cluster
@pytest.mark.timeout(900)
@pytest.mark.parametrize("row", [_parameter(row) for row in ROWS if row.seen])
def test_behaviour(row: Row, observed: Callable[[str], Any]) -> None:
    facts = observed(row.batch)
    assert row.seen is not None
    seen = row.seen(facts)
    assert seen == row.expected, row.says


def test_every_row_is_tested_or_says_why_not() -> None:
    assert [row.id for row in ROWS if bool(row.seen) == bool(row.reason)] == []


def test_every_tested_row_belongs_to_a_batch() -> None:
    assert [row.id for row in ROWS if bool(row.seen) != bool(row.batch)] == []


def test_every_row_has_an_id_of_its_own() -> None:
    assert [name for name, count in Counter(row.id for row in ROWS).items() if count > 1] == []
