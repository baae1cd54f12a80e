"""Entries are put above the line that marks their place; the rest of a file stays."""

from __future__ import annotations

import pytest

from runner.scaffold.changes import inserted, is_marked

TEXT = """\
# mine
resources:
  - a.yaml   # mine, too
  # +ansible-operator:crds
  - z.yaml
"""


def test_an_entry_goes_above_the_mark_with_its_indentation() -> None:
    assert inserted(TEXT, "crds", "- b.yaml") == TEXT.replace("  # +", "  - b.yaml\n  # +")


def test_entries_follow_one_another() -> None:
    both = inserted(inserted(TEXT, "crds", "- b.yaml"), "crds", "- c.yaml")
    assert "  - b.yaml\n  - c.yaml\n  # +ansible-operator:crds\n" in both


def test_an_entry_that_is_there_is_not_added_again() -> None:
    once = inserted(TEXT, "crds", "- b.yaml")
    assert inserted(once, "crds", "- b.yaml") == once


def test_an_entry_may_have_several_lines() -> None:
    assert "  a:\n\n    b: 1\n  # +" in inserted(TEXT, "crds", "a:\n\n  b: 1")


def test_a_place_is_told_from_one_whose_name_begins_alike() -> None:
    text = "# +ansible-operator:crds-of-others\n"
    assert not is_marked(text, "crds")
    with pytest.raises(ValueError, match="crds"):
        inserted(text, "crds", "- b.yaml")
