"""What condition Failure and its Event say of a run that failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.control.message import LONGEST_MESSAGE, failure_message, together
from runner.execute.failure import Failure
from runner.execute.outcome import Ending, Outcome, Stats

OUTCOME = Outcome(Ending.FINISHED, 0, Stats(ok=1))


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (OUTCOME, None),
        (replace(OUTCOME, return_code=2), None),
        (replace(OUTCOME, messages=("one", "two")), "one\ntwo"),
        (replace(OUTCOME, unreachable=True), "A host was unreachable"),
        (replace(OUTCOME, messages=("one",), unreachable=True), "one"),
        (
            replace(OUTCOME, stats=None, return_code=4, tail="ERROR! no such role"),
            "Ansible ended without a recap, exit code 4\nERROR! no such role",
        ),
        (replace(OUTCOME, stats=None, return_code=4), "Ansible ended without a recap, exit code 4"),
        (
            replace(OUTCOME, ending=Ending.DEADLINE, stats=None),
            "The run was stopped because it took longer than its deadline",
        ),
    ],
)
def test_the_message_of_a_failure_tells_how_the_run_ended(outcome: Outcome, expected: str | None) -> None:
    assert failure_message(outcome) == expected


def test_a_long_failure_message_is_cut() -> None:
    message = failure_message(replace(OUTCOME, messages=("x" * 100_000,)))
    assert message is not None
    assert len(message) == LONGEST_MESSAGE


TOLD = tuple(Failure("localhost", "go's text", cause=f"{number} " + "x" * 280) for number in range(9))


def test_several_failures_are_a_line_each_and_no_more_than_an_event_carries() -> None:
    message = failure_message(replace(OUTCOME, messages=("m",), failures=TOLD[:2]))
    assert message == f"{TOLD[0].told}\n{TOLD[1].told}"
    message = failure_message(replace(OUTCOME, messages=("m",), failures=TOLD))
    assert message is not None
    assert len(message) <= 1024
    assert message.splitlines()[-1] == "... and 6 more"


def test_the_same_failure_on_several_hosts_is_told_once() -> None:
    assert together(["same", "same", "other"]) == "same\nother"


def test_the_texts_of_the_go_operator_are_there_for_the_asking() -> None:
    outcome = replace(OUTCOME, messages=("one", "two"), failures=TOLD)
    assert failure_message(outcome, go_messages=True) == "one\ntwo"
