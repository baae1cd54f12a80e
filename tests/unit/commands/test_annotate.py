"""What `pause`, `resume` and `reconcile` set."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runner.commands.annotate import changes_of
from runner.control.pause import PAUSED, RECONCILE
from runner.errors import UsageError

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("command", "until", "changes", "said"),
    [
        ("pause", None, {PAUSED: "true"}, "is paused until it is resumed"),
        (
            "pause",
            "2026-01-01T14:00:00+01:00",
            {PAUSED: "2026-01-01T14:00:00+01:00"},
            "is paused until 2026-01-01T14:",
        ),
        ("resume", None, {PAUSED: None}, "is resumed"),
        ("reconcile", None, {RECONCILE: "2026-01-01T12:00:00.000000Z"}, "is to be reconciled now"),
    ],
)
def test_a_command_is_an_annotation(
    command: str, until: str | None, changes: dict[str, str | None], said: str
) -> None:
    found, told = changes_of(command, until, NOW)
    assert (found, told.startswith(said)) == (changes, True)


@pytest.mark.parametrize(
    ("until", "problem"), [("tomorrow", "is no moment with its zone"), ("2026-01-01T11:59:59Z", "has passed")]
)
def test_a_pause_has_to_end_at_a_moment_that_is_to_come(until: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        changes_of("pause", until, NOW)
