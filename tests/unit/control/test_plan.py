"""What is done about a custom resource, from the object as it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runner.config.watches import Content, Finalizer, Requirement, Selector, Watch
from runner.control.annotations import ARTIFACTS, PERIOD, VERBOSITY
from runner.control.plan import AddFinalizer, Defaults, Occasion, Perform, Plan, Refuse, Skip, plan
from runner.control.request import Trigger
from runner.objects import GroupVersionKind

ROLE = Content(Path("/roles/apple"), is_role=True)
GOODBYE = Content(Path("/roles/goodbye"), is_role=True)
WATCH = Watch(GroupVersionKind("fruit.example.com", "v1", "Apple"), ROLE)
FINALIZING = replace(WATCH, finalizer=Finalizer("example.com/f", GOODBYE))
FLAGS = Defaults()
NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def body(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "generation": 3, **metadata}}


def planned(of: dict[str, Any], watch: Watch = WATCH, defaults: Defaults = FLAGS) -> Plan:
    return plan(of, watch, defaults, Occasion(NOW))


def performed(of: dict[str, Any], watch: Watch = WATCH, defaults: Defaults = FLAGS) -> Perform:
    step = planned(of, watch, defaults)
    assert isinstance(step, Perform)
    return step


def test_an_ordinary_object_is_run() -> None:
    assert planned(body()) == Perform(ROLE, period=36000, verbosity=2, max_artifacts=20)


DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def test_a_deleted_object_without_our_finalizer_is_left_alone() -> None:
    assert planned(body(**DELETED)) == Skip("terminated")
    assert planned(body(**DELETED, finalizers=["other"]), FINALIZING) == Skip("terminated")


def test_a_missing_finalizer_is_added_first() -> None:
    assert planned(body(), FINALIZING) == AddFinalizer("example.com/f")


def test_an_object_with_its_finalizer_runs_the_normal_content() -> None:
    step = performed(body(finalizers=["example.com/f"]), FINALIZING)
    assert (step.content, step.finalizing) == (ROLE, False)


def test_deletion_runs_the_finalizers_content() -> None:
    step = performed(body(**DELETED, finalizers=["example.com/f"]), FINALIZING)
    assert (step.content, step.finalizer, step.period) == (GOODBYE, "example.com/f", None)


def test_a_finalizer_without_content_runs_the_normal_one() -> None:
    watch = replace(WATCH, finalizer=Finalizer("example.com/f"))
    assert performed(body(**DELETED, finalizers=["example.com/f"]), watch).content == ROLE


def test_deletion_is_not_held_up_by_a_selector_or_a_bad_annotation() -> None:
    watch = replace(FINALIZING, selector=Selector((Requirement("tree", "Exists"),)))
    step = performed(body(**DELETED, finalizers=["example.com/f"], annotations={PERIOD: "soon"}), watch)
    assert step.finalizing


def test_an_object_that_the_selector_does_not_match_is_skipped() -> None:
    watch = replace(FINALIZING, selector=Selector((Requirement("tree", "Exists"),)))
    assert planned(body(finalizers=["example.com/f"]), watch) == Skip("not selected")
    assert performed(body(labels={"tree": ""}, finalizers=["example.com/f"]), watch)


@pytest.mark.parametrize(
    ("annotation", "of_watch", "flag", "expected"),
    [
        ("1m", 30.0, 10.0, 60.0),
        ("0", 30.0, 10.0, None),
        ("-5s", 30.0, 10.0, None),
        (None, 30.0, 10.0, 30.0),
        (None, -1.0, 10.0, None),
        (None, None, 10.0, 10.0),
        (None, 0.0, 10.0, 10.0),
        (None, None, 0.0, None),
        (None, None, -1.0, None),
    ],
)
def test_the_period_comes_from_the_annotation_then_the_watch_then_the_flag(
    annotation: str | None, of_watch: float | None, flag: float, expected: float | None
) -> None:
    annotations = {} if annotation is None else {PERIOD: annotation}
    watch = replace(WATCH, reconcile_period=of_watch)
    assert performed(body(annotations=annotations), watch, Defaults(flag)).period == expected


def test_an_unreadable_period_is_refused_with_the_reason() -> None:
    step = planned(body(annotations={PERIOD: "30"}), FINALIZING)
    expected = 'Unable to parse reconcile period annotation: time: missing unit in duration "30"'
    assert step == Refuse(expected)


def test_annotations_set_verbosity_and_artifacts() -> None:
    step = performed(body(annotations={VERBOSITY: "5", ARTIFACTS: "40"}))
    assert (step.verbosity, step.max_artifacts, step.warnings) == (5, 40, ())


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [({VERBOSITY: "5"}, 5), ({VERBOSITY: "5", ARTIFACTS: "x"}, 5), ({VERBOSITY: "x"}, 0), ({}, 0)],
)
def test_only_the_annotation_makes_the_console_verbose(annotations: dict[str, str], expected: int) -> None:
    assert performed(body(annotations=annotations)).console_verbosity == expected


def test_unreadable_numbers_are_ignored_with_a_warning() -> None:
    step = performed(body(annotations={VERBOSITY: "much"}), defaults=Defaults(verbosity=1))
    assert step.verbosity == 1
    assert step.warnings == (f"annotation {VERBOSITY}: 'much' is not an integer; using 1",)


def reconciled(completion: object = "2026-01-01T11:59:00.123+00:00", **successful: Any) -> dict[str, Any]:
    conditions = [
        {"type": "Running", "ansibleResult": {"completion": completion}},
        {"type": "Successful", "status": "True", "observedGeneration": 3, **successful},
    ]
    return {**body(), "status": {"conditions": conditions}}


RESTING = Defaults(reconcile_period=3600, reconcile_at_start=False)
STARTED = frozenset({Trigger.START})


def at_start(of: dict[str, Any], spread: float = 0.0, defaults: Defaults = RESTING) -> Plan:
    return plan(of, WATCH, defaults, Occasion(NOW, STARTED, spread))


def test_an_object_reconciled_before_the_start_rests_until_its_period_is_over() -> None:
    step = at_start(reconciled())
    assert isinstance(step, Skip)
    assert step.after == pytest.approx(3540.123)


@pytest.mark.parametrize("spread", [-1.0, 1.0])
def test_the_rest_of_an_object_reconciled_before_the_start_is_spread(spread: float) -> None:
    step = at_start(reconciled(), spread)
    assert isinstance(step, Skip)
    assert step.after == pytest.approx(3540.123 * (1 + 0.1 * spread))


@pytest.mark.parametrize("triggers", [{Trigger.CHANGED}, {Trigger.CHANGED, Trigger.PERIOD}])
def test_a_change_that_the_run_before_has_found_already_leads_to_no_other(triggers: set[Trigger]) -> None:
    step = plan(reconciled(), WATCH, replace(RESTING, reconcile_at_start=True), Occasion(NOW, frozenset(triggers)))
    assert isinstance(step, Skip)
    assert step.after == pytest.approx(3540.123)


@pytest.mark.parametrize(
    "triggers",
    [
        {Trigger.PERIOD},
        {Trigger.DEPENDENT},
        {Trigger.CHANGED, Trigger.DEPENDENT},
        {Trigger.CHANGED, Trigger.RETRY},
    ],
)
def test_a_trigger_beside_a_change_gets_a_run_though_the_change_was_found(triggers: set[Trigger]) -> None:
    assert isinstance(plan(reconciled(), WATCH, RESTING, Occasion(NOW, frozenset(triggers))), Perform)


def test_a_change_that_no_run_has_found_leads_to_a_run() -> None:
    changed = reconciled()
    changed["metadata"]["generation"] += 1
    assert isinstance(plan(changed, WATCH, RESTING, Occasion(NOW, frozenset({Trigger.CHANGED}))), Perform)


def test_without_a_period_an_object_reconciled_before_the_start_rests_for_good() -> None:
    step = at_start(reconciled(), defaults=replace(RESTING, reconcile_period=0))
    assert step == Skip("reconciled before the start")


@pytest.mark.parametrize(
    "of",
    [
        body(),
        reconciled(status="False"),
        reconciled(observedGeneration=2),
        reconciled("2026-01-01T10:00:00+00:00"),
        reconciled("never"),
        reconciled("2026-01-01T11:59:00"),
        reconciled(None),
    ],
    ids=["new", "failed", "changed since", "due", "unreadable", "no time zone", "no completion"],
)
def test_an_object_not_reconciled_as_it_is_runs_at_the_start(of: dict[str, Any]) -> None:
    assert isinstance(at_start(of), Perform)


def test_an_object_that_rests_at_the_start_runs_at_any_other_trigger() -> None:
    occasion = Occasion(NOW, STARTED | {Trigger.DEPENDENT})
    assert isinstance(plan(reconciled(), WATCH, RESTING, occasion), Perform)


@pytest.mark.parametrize("of", [body(), body(**DELETED, finalizers=["example.com/f"])], ids=["alive", "deleted"])
def test_what_the_watch_has_yet_to_tell_of_is_left_to_its_own_event(of: dict[str, Any]) -> None:
    occasion = Occasion(NOW, frozenset({Trigger.DEPENDENT}), untold=True)
    assert plan(of, FINALIZING, FLAGS, occasion) == Skip("the watch has yet to tell of it", 1.0, Trigger.RETRY)


def test_by_default_every_object_runs_at_the_start() -> None:
    assert isinstance(at_start(reconciled(), defaults=Defaults()), Perform)
