"""The recording of `dev run` in the README."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.devdemo import README, recorded
from runner.errors import DevError


def test_recording_goes_between_its_marks_a_block_a_step() -> None:
    page = "before\n<!-- dev run -->\nold\n<!-- end of dev run -->\nafter\n"
    assert recorded(page, iter([("typed", ["one", "two"]), ("saved", ["three"])])) == (
        "before\n<!-- dev run -->\n\n    # typed\n    one\n    two\n\n    # saved\n    three\n\n"
        "<!-- end of dev run -->\nafter\n"
    )


def test_page_without_marks_is_an_error() -> None:
    with pytest.raises(DevError, match="no marks"):
        recorded("nothing", iter([]))


def test_readme_has_a_recording() -> None:
    readme = (Path(__file__).parents[3] / README).read_text()
    assert "    KIND " in readme[readme.index("<!-- dev run -->") :]
