"""What the annotations `paused` and `reconcile` ask for, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runner.config.watches import Requirement, Selector, Watch
from runner.control import status
from runner.control.pause import PAUSED, RECONCILE, Pause, asked, pause_of, paused, paused_since
from runner.control.plan import Defaults, Occasion, Paused, Perform, Plan, Skip, plan
from runner.control.request import Trigger
from runner.control.status import Moment
from tests.unit.control.test_plan import DELETED, FINALIZING, NOW, WATCH, body

LATER = "2026-01-01T12:00:30Z"
AT_LATER = NOW + timedelta(seconds=30)


def planned(annotation: str, watch: Watch = WATCH, *triggers: Trigger, **fields: Any) -> Plan:
    occasion = Occasion(NOW, frozenset(triggers))
    return plan(body(annotations={PAUSED: annotation}, **fields), watch, Defaults(), occasion)


def test_a_paused_object_is_left_alone_until_it_is_resumed() -> None:
    assert planned("true") == Paused(Pause("true"))


def test_a_moment_ends_the_pause_by_itself() -> None:
    assert planned(LATER) == Paused(Pause(LATER, AT_LATER), 30)


@pytest.mark.parametrize("text", ["false", "2026-01-01T12:00:00Z", "2026-01-01T14:00:00+02:00"])
def test_false_and_a_moment_that_has_passed_are_no_pause(text: str) -> None:
    assert isinstance(planned(text), Perform)


@pytest.mark.parametrize("text", ["2026-01-01T14:00:30+02:00", "2026-01-01t12:00:30.000z"])
def test_a_moment_may_be_written_in_every_way_of_rfc_3339(text: str) -> None:
    assert planned(text) == Paused(Pause(text, AT_LATER), 30)


@pytest.mark.parametrize(
    "text", ["", "yes", "True", "tomorrow", "2026-01-01", "2026-01-01T12:00:30", "1h", "9" * 400]
)
def test_what_nobody_can_read_is_a_pause_and_is_complained_of(text: str) -> None:
    step = planned(text)
    assert isinstance(step, Paused)
    assert step.after is None
    assert "is neither true nor false nor an RFC 3339 moment" in step.pause.problem
    assert len(step.pause.problem) < 300


def test_a_moment_that_no_calendar_has_is_a_pause() -> None:
    for text in ("2026-02-30T00:00:00Z", "0001-01-01T00:00:00+23:59"):
        assert pause_of(text, NOW) == Pause(text)


def test_a_paused_object_gets_no_finalizer_and_no_finalizing_run() -> None:
    assert planned("true", FINALIZING) == Paused(Pause("true"))
    assert planned("true", FINALIZING, **DELETED, finalizers=["example.com/f"]) == Paused(Pause("true"))


def test_an_object_that_is_not_ours_is_not_told_that_it_is_paused() -> None:
    watch = replace(FINALIZING, selector=Selector((Requirement("tree", "Exists"),)))
    assert planned("true", watch) == Skip("not selected")
    assert planned("true", WATCH, **DELETED) == Skip("terminated")


RESTING = {
    "conditions": [
        {
            "type": "Running",
            "status": "True",
            "reason": "Successful",
            "ansibleResult": {"completion": NOW.isoformat()},
        },
        {"type": "Successful", "status": "True", "observedGeneration": 3},
    ]
}


def test_an_object_that_was_resumed_while_no_operator_ran_does_not_rest() -> None:
    defaults, started = Defaults(reconcile_at_start=False), Occasion(NOW, frozenset({Trigger.START}))
    resting = {**body(), "status": RESTING}
    assert isinstance(plan(resting, WATCH, defaults, started), Skip)
    resumed = {**body(), "status": paused(resting, Moment(NOW, 3), Pause("true"))}
    assert isinstance(plan(resumed, WATCH, defaults, started), Perform)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {RECONCILE: "1"}, Trigger.REQUESTED),
        ({RECONCILE: "1"}, {RECONCILE: "2"}, Trigger.REQUESTED),
        ({RECONCILE: "1"}, {RECONCILE: "1", "other": "x"}, None),
        ({RECONCILE: "1"}, {}, None),
        ({}, {PAUSED: "true"}, Trigger.ANNOTATED),
        ({PAUSED: "true"}, {}, Trigger.ANNOTATED),
        ({PAUSED: "true"}, {PAUSED: "false"}, Trigger.ANNOTATED),
        ({PAUSED: "true"}, {PAUSED: LATER}, Trigger.ANNOTATED),
        ({PAUSED: "2026-01-01T11:00:00Z"}, {}, None),
        ({}, {PAUSED: "false"}, None),
    ],
)
def test_an_annotation_counts_when_it_asks_for_something_else_than_before(
    before: dict[str, str], after: dict[str, str], expected: Trigger | None
) -> None:
    assert asked(before, after, NOW) is expected


def said(text: str, before: dict[str, Any] | None = None, now: datetime = NOW) -> dict[str, Any]:
    pause = pause_of(text, now)
    assert pause is not None
    return paused({"status": before or RESTING}, Moment(now, 3), pause)


def test_the_condition_says_since_when_and_until_when_and_leaves_the_others_alone() -> None:
    found = said("2026-01-01T14:00:30+02:00")
    assert found["conditions"][:2] == RESTING["conditions"]
    assert found["conditions"][2] == {
        "type": "Paused",
        "status": "True",
        "lastTransitionTime": "2026-01-01T12:00:00Z",
        "reason": "Paused",
        "message": "Paused since 2026-01-01T12:00:00Z, until 2026-01-01T14:00:30+02:00",
        "observedGeneration": 3,
    }


def test_the_condition_is_the_same_each_time_it_is_said() -> None:
    assert said("true", said("true"), NOW + timedelta(hours=1)) == said("true")


def test_the_condition_follows_a_new_moment_but_not_its_beginning() -> None:
    again = said(LATER, said("true"), NOW + timedelta(seconds=9))
    assert again["conditions"][2]["message"] == f"Paused since 2026-01-01T12:00:00Z, until {LATER}"


def test_a_pause_that_nobody_can_read_is_explained_in_the_condition() -> None:
    assert "'soon' is neither true" in said("soon")["conditions"][2]["message"]


def test_a_run_ends_the_pause_in_the_status() -> None:
    found = status.running({"status": said("true")}, Moment(datetime(2026, 1, 2, tzinfo=UTC), 3))
    condition = status.find(found["conditions"], status.PAUSED)
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("False", "Resumed")
    assert paused_since({"status": found}) == ""
    assert status.find(status.running({}, Moment(NOW, 3))["conditions"], status.PAUSED) is None
