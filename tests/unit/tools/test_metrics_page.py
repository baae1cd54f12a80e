"""docs/metrics.md says what the code says, and links to what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.families import FAMILIES, GROUPS
from tools.metrics import page

ROOT = Path(__file__).parents[3]


def test_the_page_is_what_the_code_gives() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text() == page(), "run `make reference`"


def test_every_metric_is_in_one_group_of_the_page() -> None:
    names = [family.name for group in GROUPS.values() for family in group]
    assert len(names) == len(set(names)) == len(FAMILIES)
    assert [f"| `{name}` |" in page() for name in names] == [True] * len(names)


@pytest.mark.parametrize("target", ["docs/how-to/alerts.md", "docs/collection.md", "config/prometheus/rules.yaml"])
def test_what_the_page_names_is_there(target: str) -> None:
    assert target.removeprefix("docs/") in page()
    assert (ROOT / target).exists()
