"""The test of every row that one batch observes.

The rows of a batch are a group of pytest-xdist (`--dist loadgroup`): one worker gets them all, and observes the
batch once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.rows import Row
from tests.parity.tables import ROWS


def behaviour(batch: str) -> Callable[..., None]:
    """A test function with one parameter set a row."""
    rows = [pytest.param(row, id=row.id) for row in ROWS if row.batch == batch]

    @pytest.mark.cluster
    @pytest.mark.xdist_group(f"parity-{batch}")
    @pytest.mark.timeout(900)
    @pytest.mark.parametrize("row", rows)
    def test_behaviour(row: Row, observed: Callable[[str], Any]) -> None:
        assert row.seen is not None
        seen = row.seen(observed(batch))
        assert seen == row.expected, f"{row.says}: saw {seen!r}, not {row.expected!r}"

    marked: Callable[..., None] = test_behaviour  # the marks are not typed
    return marked
