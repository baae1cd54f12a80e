"""The words of the demo's table."""

from __future__ import annotations

import pytest

from bench.demotable import state
from bench.observer import Object, condition


def body(*conditions: tuple[str, str]) -> Object:
    return {"status": {"conditions": [{"type": kind, "status": status} for kind, status in conditions]}}


@pytest.mark.parametrize(
    ("resource", "word"),
    [
        (None, "deleted"),
        ({}, "new"),
        (body(("Running", "True")), "Running"),
        (body(("Running", "True"), ("Successful", "True"), ("Failure", "False")), "Successful"),
        (body(("Running", "True"), ("Successful", "False"), ("Failure", "True")), "Failure"),
    ],
)
def test_one_word_says_how_a_custom_resource_is(resource: Object | None, word: str) -> None:
    assert word in state(resource)


def test_a_condition_that_is_not_there_is_empty() -> None:
    assert condition(body(("Running", "True")), "Failure") == {}
    assert condition(None, "Failure") == {}
