"""When a check run takes a real one's place, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runner.config.watches import Content, Finalizer, Watch
from runner.control import status
from runner.control.annotations import PERIOD
from runner.control.changes import of_resource
from runner.control.check import checking, condition, finding
from runner.control.pause import MODE, PAUSED, Pause, paused
from runner.control.plan import AddFinalizer, Defaults, Occasion, Paused, Perform, Plan, Skip, plan
from runner.control.request import Trigger
from runner.control.status import Moment
from runner.differences import Difference
from runner.execute.failure import Failure
from runner.execute.outcome import Ending, Outcome, Stats
from runner.execute.run import Run
from runner.kube.listwatch import Change, What
from runner.objects import GroupVersionKind, ObjectKey, parse_meta

APPLE = GroupVersionKind("fruit.example.com", "v1", "Apple")
WATCH = Watch(APPLE, Content(Path("/roles/apple"), is_role=True), reconcile_period=3600.0)
DRIFTING = replace(WATCH, drift_period=600.0)
FINALIZING = replace(DRIFTING, finalizer=Finalizer("example.com/f"))
KEY = ObjectKey(APPLE, "orchard", "a")
NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
MOMENT = Moment(NOW, 3)
CHECK = {MODE: "check"}
GOOD = Outcome(Ending.FINISHED, 0, Stats())
FOUND = Difference("ConfigMap", "shop", "web", {}, {}, ("data.a",))


def body(*, rested: float | None = None, **metadata: Any) -> dict[str, Any]:
    """An object, reconciled so many seconds ago."""
    made: dict[str, Any] = {"metadata": {"name": "a", "generation": 3, **metadata}}
    if rested is None:
        return made
    completed = (NOW - timedelta(seconds=rested)).isoformat()
    moment = Moment(NOW, 3)
    return {**made, "status": status.succeeded(made, moment, Stats(completion=completed))}


def planned(of: dict[str, Any], watch: Watch, *triggers: Trigger) -> Plan:
    return plan(of, watch, Defaults(), Occasion(NOW, frozenset(triggers or {Trigger.CHANGED})))


def performed(of: dict[str, Any], watch: Watch, *triggers: Trigger) -> Perform:
    step = planned(of, watch, *triggers)
    assert isinstance(step, Perform)
    return step


@pytest.mark.parametrize("trigger", [Trigger.CHANGED, Trigger.RETRY, Trigger.PERIOD, Trigger.DRIFT, Trigger.START])
def test_the_annotation_makes_every_run_a_check(trigger: Trigger) -> None:
    assert performed(body(annotations=CHECK), WATCH, trigger).check


def test_a_mode_that_nobody_knows_changes_nothing_either() -> None:
    step = performed(body(annotations={MODE: "Check"}), WATCH)
    assert step.check
    assert step.warnings == (
        f"annotation {MODE}: 'Check' is not `check`; taken for it, so that nothing is changed",
    )


def test_in_check_mode_no_finalizer_is_added_or_run_for_good() -> None:
    deleted: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/f"]}
    assert performed(body(annotations=CHECK), FINALIZING).check
    assert performed(body(annotations=CHECK, **deleted), FINALIZING).check


def test_without_a_drift_period_the_period_follows_a_run() -> None:
    step = performed(body(), WATCH)
    assert (step.check, step.period, step.trigger) == (False, 3600, Trigger.PERIOD)


def test_a_check_follows_a_run_where_its_period_is_the_shorter() -> None:
    step = performed(body(), DRIFTING)
    assert (step.check, step.period, step.trigger) == (False, 600, Trigger.DRIFT)
    often = performed(body(annotations={PERIOD: "5m"}), DRIFTING)
    assert (often.period, often.trigger) == (300, Trigger.PERIOD)


def test_checks_go_on_until_the_period_is_over() -> None:
    first = performed(body(rested=600), DRIFTING, Trigger.DRIFT)
    assert (first.check, first.period, first.trigger) == (True, 600, Trigger.DRIFT)
    last = performed(body(rested=3300), DRIFTING, Trigger.DRIFT)
    assert (last.check, last.period, last.trigger) == (True, 300, Trigger.PERIOD)
    assert not performed(body(rested=3700), DRIFTING, Trigger.DRIFT).check


def test_without_a_period_checks_go_on_for_ever() -> None:
    step = performed(body(rested=1e6, annotations={PERIOD: "0s"}), DRIFTING, Trigger.DRIFT)
    assert (step.check, step.period, step.trigger) == (True, 600, Trigger.DRIFT)


def test_only_an_object_at_rest_is_checked() -> None:
    assert planned(body(), DRIFTING, Trigger.DRIFT) == Skip("not at rest, so that nothing can have drifted", 3600)


def test_anything_real_that_is_due_as_well_goes_before() -> None:
    assert not performed(body(rested=600), DRIFTING, Trigger.DRIFT, Trigger.DEPENDENT).check


def test_a_check_adds_no_finalizer_but_a_run_does() -> None:
    assert performed(body(rested=600), FINALIZING, Trigger.DRIFT).check
    assert planned(body(rested=600), FINALIZING, Trigger.CHANGED) == AddFinalizer("example.com/f")


def test_a_change_that_was_reconciled_already_is_followed_by_a_check() -> None:
    assert planned(body(rested=1), DRIFTING, Trigger.CHANGED, Trigger.DRIFT) == Skip(
        "this change was reconciled with the one before", 600, Trigger.DRIFT
    )


@pytest.mark.parametrize(("before", "after"), [({}, CHECK), (CHECK, {}), (CHECK, {MODE: "other"})])
def test_the_annotation_takes_effect_at_once(before: dict[str, str], after: dict[str, str]) -> None:
    for deleted, trigger in ((None, Trigger.ANNOTATED), ("2026-01-01T00:00:00Z", Trigger.DELETING)):
        old, new = (
            parse_meta(
                {
                    "metadata": {
                        "name": "a",
                        "uid": "u",
                        "generation": 1,
                        "annotations": annotations,
                        "finalizers": ["example.com/f"],
                        "deletionTimestamp": deleted,
                    }
                }
            )
            for annotations in (before, after)
        )
        enqueue = of_resource(Change(What.UPDATED, APPLE, old, new, listed=False), FINALIZING)
        assert enqueue is not None
        assert enqueue.trigger is trigger


def test_what_would_change_is_drift() -> None:
    found = finding(replace(GOOD, differences=(FOUND,)))
    assert (found.status, found.reason) == ("True", "WouldChange")
    assert found.message == "A run would change 1 object: ConfigMap shop/web: data.a"


def test_what_would_change_nothing_is_none() -> None:
    found = finding(GOOD)
    assert (found.status, found.reason, found.message) == ("False", "InSync", "A run would change nothing")


def test_a_check_that_fails_says_why_whatever_it_has_found() -> None:
    failed = replace(GOOD, messages=("no",), failures=(Failure("localhost", "no"),), differences=(FOUND,))
    found = finding(failed)
    assert (found.status, found.reason, found.message) == ("Unknown", "CheckFailed", "The check run failed: no")


def test_what_cannot_be_compared_is_not_taken_for_no_drift() -> None:
    assert finding(replace(GOOD, uncompared=("pods a: forbidden",))).status == "Unknown"


def test_of_the_status_only_drifted_is_written() -> None:
    before = body(rested=5)
    after = condition(before, MOMENT, finding(replace(GOOD, differences=(FOUND,))))
    assert after["conditions"][:-1] == before["status"]["conditions"]
    assert after["conditions"][-1]["type"] == "Drifted"


def test_a_real_run_ends_drift_and_says_nothing_of_it_where_nobody_has_asked() -> None:
    drifting = {**body(), "status": condition(body(), MOMENT, finding(replace(GOOD, differences=(FOUND,))))}
    after = {each["type"]: each for each in status.succeeded(drifting, MOMENT, Stats())["conditions"]}
    assert (after["Drifted"]["status"], after["Drifted"]["reason"]) == ("False", "InSync")
    types = [each["type"] for each in status.succeeded(body(), MOMENT, Stats())["conditions"]]
    assert "Drifted" not in types


def test_check_mode_is_asked_for_beside_the_arguments_of_a_manifest() -> None:
    for asked, given in (("", "--check --diff"), ("'--tags a'", "--tags a --check --diff")):
        assert checking(Run("1", KEY, "u", WATCH.content, {}, "", ansible_args=asked)).ansible_args == given


def test_a_paused_object_is_not_checked_either() -> None:
    annotations = CHECK | {PAUSED: "true"}
    deleted: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/f"]}
    assert isinstance(planned(body(annotations=annotations), FINALIZING), Paused)
    assert isinstance(planned(body(annotations=annotations, **deleted), FINALIZING), Paused)
    assert isinstance(planned(body(rested=600, annotations={PAUSED: "true"}), DRIFTING, Trigger.DRIFT), Paused)


def test_an_object_that_is_checked_is_no_longer_paused() -> None:
    resting = body(rested=5)
    rest = {**resting, "status": paused(resting, MOMENT, Pause("true"))}
    after = {each["type"]: each for each in condition(rest, MOMENT, finding(GOOD))["conditions"]}
    assert (after["Paused"]["status"], after["Paused"]["reason"]) == ("False", "Resumed")
