"""docs/reference.md says what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runner.config.settings import VARIABLES
from runner.config.watches import WATCH_FIELDS
from tools.reference import page

ROOT = Path(__file__).parents[3]
SOURCE = "\n".join(path.read_text() for path in (ROOT / "runner").rglob("*.py") if path.name != "environment.py")


def test_the_reference_is_what_the_code_gives() -> None:
    assert (ROOT / "docs" / "reference.md").read_text() == page(), "run `make reference`"


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_of_the_reference_is_read_somewhere(name: str) -> None:
    assert re.search(rf'["{{]{name.partition("_<")[0]}', SOURCE)


@pytest.mark.parametrize("field", [field.name for field in WATCH_FIELDS])
def test_every_field_of_the_reference_is_read_from_the_file(field: str) -> None:
    assert f'"{field}"' in (ROOT / "runner" / "config" / "watchesfile.py").read_text()
