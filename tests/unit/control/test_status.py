"""What a status says at each moment of a reconcile: the conditions cell by cell, and the mapped fields."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.watches import Content, Watch
from runner.control import status
from runner.control.plan import Defaults, Occasion, plan
from runner.control.request import Trigger
from runner.control.status import Moment, mapped, merged, without
from runner.execute.outcome import Ending, Outcome, Stats
from runner.objects import LEVELS, GroupVersionKind, nested_deeper

OLD = "2026-01-01T00:00:00Z"
NOW = "2026-01-02T03:04:05Z"
MOMENT = Moment(datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), 7)
STATS = Stats(ok=3, changed=1, skipped=2, failures=0, completion="2026-01-02T03:04:04.5+00:00")
RESULT = {"ok": 3, "changed": 1, "skipped": 2, "failures": 0, "completion": "2026-01-02T03:04:04.5+00:00"}


def condition(kind: str, value: str, reason: str, message: str, since: str = NOW, **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "status": value,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
        "observedGeneration": 7,
        **more,
    }


def having(*conditions: Any, **more: Any) -> dict[str, Any]:
    return {"status": {"conditions": list(conditions), **more}}


def by_type(of: dict[str, Any]) -> dict[str, Any]:
    return {item["type"]: item for item in of["conditions"]}


RUNNING = condition("Running", "True", "Running", "Running reconciliation")
AWAITING = condition("Running", "True", "Successful", "Awaiting next reconciliation", ansibleResult=RESULT)
SUCCESSFUL = condition("Successful", "True", "Successful", "Last reconciliation succeeded")
NO_FAILURE = condition("Failure", "False", "", "")
AFTER_SUCCESS = having(
    {**AWAITING, "lastTransitionTime": OLD},
    {**SUCCESSFUL, "lastTransitionTime": OLD},
    {**NO_FAILURE, "lastTransitionTime": OLD},
)
FAILED = condition("Failure", "True", "Failed", "it broke", ansibleResult=RESULT)
AFTER_FAILURE = having(
    condition("Running", "False", "Running", "Running reconciliation", OLD),
    condition("Successful", "False", "", "", OLD),
    {**FAILED, "lastTransitionTime": OLD},
)


class TestStart:
    def test_a_new_object_is_running_and_nothing_else_is_said(self) -> None:
        assert status.running({}, MOMENT) == {"conditions": [RUNNING]}

    def test_after_a_success_running_has_no_result_and_successful_becomes_false(self) -> None:
        new = by_type(status.running(AFTER_SUCCESS, MOMENT))
        assert new["Running"] == {**RUNNING, "lastTransitionTime": OLD}
        assert new["Successful"] == {**SUCCESSFUL, "status": "False"}
        assert new["Failure"] == {**NO_FAILURE, "lastTransitionTime": OLD}

    def test_after_a_failure_the_failure_stays_until_the_next_success(self) -> None:
        new = by_type(status.running(AFTER_FAILURE, MOMENT))
        assert new["Running"] == RUNNING
        assert new["Successful"] == condition("Successful", "False", "", "", OLD)
        assert new["Failure"] == {**FAILED, "lastTransitionTime": OLD}

    def test_a_status_that_says_running_already_is_left_alone(self) -> None:
        before = having({**RUNNING, "message": "by somebody else", "lastTransitionTime": OLD})
        assert status.running(before, MOMENT) == before["status"]

    def test_a_start_notes_the_new_generation(self) -> None:
        before = having({**RUNNING, "observedGeneration": 6})
        assert by_type(status.running(before, MOMENT))["Running"] == RUNNING


class TestSuccess:
    def test_after_a_success_all_three_conditions_say_so(self) -> None:
        new = status.succeeded({"status": {"conditions": [RUNNING]}}, MOMENT, STATS)
        assert new["conditions"] == [AWAITING, SUCCESSFUL, NO_FAILURE]

    def test_a_success_clears_the_failure_before_it(self) -> None:
        new = by_type(status.succeeded(AFTER_FAILURE, MOMENT, STATS))
        assert new == {"Running": AWAITING, "Successful": SUCCESSFUL, "Failure": NO_FAILURE}

    def test_a_condition_that_did_not_flip_keeps_its_time(self) -> None:
        started = {"status": status.running(AFTER_SUCCESS, MOMENT)}
        new = by_type(status.succeeded(started, MOMENT, STATS))
        assert new["Running"] == {**AWAITING, "lastTransitionTime": OLD}
        assert new["Failure"] == {**NO_FAILURE, "lastTransitionTime": OLD}
        assert new["Successful"] == SUCCESSFUL


class TestFailure:
    def test_a_first_run_that_fails_says_so_in_every_condition(self) -> None:
        new = by_type(status.failed(having(RUNNING), MOMENT, "it broke", STATS))
        assert new == {
            "Running": {**RUNNING, "status": "False"},
            "Successful": condition("Successful", "False", "", ""),
            "Failure": FAILED,
        }

    def test_a_failure_after_a_success_flips_all_three_conditions(self) -> None:
        started = {"status": status.running(AFTER_SUCCESS, MOMENT)}
        new = by_type(status.failed(started, MOMENT, "it broke", STATS))
        assert new["Running"] == {**RUNNING, "status": "False"}
        assert new["Successful"] == condition("Successful", "False", "", "")
        assert new["Failure"] == FAILED

    def test_a_failure_again_is_rewritten_with_its_new_message(self) -> None:
        new = by_type(status.failed(AFTER_FAILURE, MOMENT, "still broken", STATS))
        assert new["Failure"] == {**FAILED, "message": "still broken", "lastTransitionTime": OLD}

    def test_a_failure_without_recap_has_no_result(self) -> None:
        new = by_type(status.failed({}, MOMENT, "it crashed", None))
        assert new["Failure"] == condition("Failure", "True", "Failed", "it crashed")
        assert "Running" not in new


class TestRefusal:
    def test_a_refusal_says_why_and_only_present_conditions_become_false(self) -> None:
        assert by_type(status.refused({}, MOMENT, "no")) == {
            "Failure": condition("Failure", "True", "Failed", "no")
        }

    def test_a_refusal_keeps_what_the_other_conditions_say(self) -> None:
        new = by_type(status.refused(AFTER_SUCCESS, MOMENT, "no"))
        assert new["Running"] == {**AWAITING, "status": "False"}
        assert new["Successful"] == {**SUCCESSFUL, "status": "False"}


class TestInterruption:
    def test_a_run_that_was_cut_runs_no_more_and_is_no_failure(self) -> None:
        started = {"status": status.running(AFTER_SUCCESS, MOMENT)}
        new = by_type(status.interrupted(started, MOMENT))
        assert (new["Running"]["status"], new["Running"]["reason"]) == ("False", "Interrupted")
        assert new["Failure"]["status"] == "False"

    def test_an_interruption_without_a_run_changes_no_condition(self) -> None:
        assert status.interrupted(AFTER_SUCCESS, MOMENT) == AFTER_SUCCESS["status"]


def test_conditions_and_fields_of_others_pass_through_in_their_place() -> None:
    foreign = {"type": "Ready", "status": "True", "lastHeartbeatTime": "x", "ansibleResult": {"ok": "odd"}}
    untyped = {"note": 1}
    new = status.succeeded(having(foreign, untyped, RUNNING, "junk", replicas=3), MOMENT, STATS)
    assert new["conditions"][:3] == [foreign, untyped, AWAITING]
    assert new["replicas"] == 3


@pytest.mark.parametrize(
    "odd", [None, "text", [], {"conditions": None}, {"conditions": "text"}, {"conditions": {}}]
)
def test_a_status_of_another_shape_is_replaced(odd: object) -> None:
    assert status.running({"status": odd}, MOMENT)["conditions"] == [RUNNING]


def test_an_unreadable_transition_time_becomes_now() -> None:
    before = having({**RUNNING, "reason": "", "lastTransitionTime": "yesterday"})
    assert by_type(status.running(before, MOMENT))["Running"] == RUNNING


def test_the_object_that_was_read_is_not_changed() -> None:
    before = having({**SUCCESSFUL})
    status.running(before, MOMENT)
    assert before == having(SUCCESSFUL)


def test_a_kind_without_generation_gets_no_observed_generation() -> None:
    new = status.running({}, replace(MOMENT, generation=0))
    assert "observedGeneration" not in new["conditions"][0]


OUTCOME = Outcome(Ending.FINISHED, 0, STATS)


class TestFields:
    outcome = replace(OUTCOME, data={"pods": [{"name": "a"}, {"name": "b"}]})

    def test_mapped_expressions_see_the_recap_and_the_data(self) -> None:
        fields, warnings = mapped({"podNames": "data.pods[].name", "run.changed": "stats.changed"}, self.outcome)
        assert fields == (("podNames", ["a", "b"]), ("run.changed", 1))
        assert warnings == ()

    def test_an_expression_that_gives_null_leaves_its_field_alone(self) -> None:
        assert mapped({"x": "data.absent"}, self.outcome) == ((), ())
        assert mapped({"x": "stats.ok"}, replace(OUTCOME, stats=None)) == ((), ())

    def test_mapped_expressions_see_facts_and_children(self) -> None:
        outcome = replace(OUTCOME, facts={"colour": "red"}, children=({"kind": "Pip", "status": {"ready": 2}},))
        expressions = {"colour": "facts.colour", "ready": "children[?kind=='Pip'] | [0].status.ready"}
        assert mapped(expressions, outcome) == ((("colour", "red"), ("ready", 2)), ())

    @pytest.mark.parametrize("expression", ["data.[", "length(stats.ok)", "nothing(data)"])
    def test_a_bad_expression_is_a_warning_and_spoils_nothing_else(self, expression: str) -> None:
        fields, warnings = mapped({"bad": expression, "ok": "stats.ok"}, self.outcome)
        assert fields == (("ok", 3),)
        assert len(warnings) == 1
        assert "status.bad" in warnings[0]

    def test_an_expression_cannot_be_mapped_to_the_conditions(self) -> None:
        fields, warnings = mapped({"conditions": "data.pods"}, self.outcome)
        assert fields == ()
        assert "conditions" in warnings[0]

    def test_a_mapped_nested_field_leaves_its_neighbours(self) -> None:
        before = {"run": {"by": "me"}, "other": 1}
        assert merged(before, [("run.changed", 1)]) == {"run": {"by": "me", "changed": 1}, "other": 1}
        assert before == {"run": {"by": "me"}, "other": 1}

    def test_a_finished_run_sets_mapped_fields_beside_the_conditions(self) -> None:
        new = status.failed({}, MOMENT, "it broke", STATS, (("podNames", ["a"]),))
        assert new["podNames"] == ["a"]
        assert len(new["conditions"]) == 2


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        ((), []),
        (("<nil>", "", "spec.a"), []),
        (("status",), []),
        (("status.conditions[0].message",), []),
        (("status.a",), ["b.c", "b.d"]),
        (("status.a[3].name",), ["b.c", "b.d"]),
        (("status.b",), ["a"]),
        (("status.b.c.deep", "status.other"), ["a", "b.d"]),
        (("status.a", "status.b.c", "status.b.d"), []),
    ],
)
def test_a_field_that_the_api_server_refuses_is_left_out(refused: tuple[str, ...], kept: list[str]) -> None:
    fields = (("a", 1), ("b.c", 2), ("b.d", 3))
    assert [path for path, _ in without(fields, refused)] == kept


def test_a_value_that_would_make_the_object_too_deep_is_left_alone_with_a_warning() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    outcome = Outcome(Ending.FINISHED, 0, STATS, data={"deep": deep, "flat": 1})
    fields, warnings = mapped({"a": "data.deep", "b": "data.flat"}, outcome)
    assert fields == (("b", 1),)
    assert warnings == ("status.a: what 'data.deep' gives is nested deeper than 64 levels",)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=10), inner, max_size=3)),
    max_leaves=8,
)
TIMES = st.one_of(st.datetimes().map(str), st.datetimes(timezones=st.timezones()).map(str), st.text(max_size=30))
CONDITION = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["Running", "Successful", "Failure", "Ready"]) | JSON,
        "status": st.sampled_from(["True", "False"]) | JSON,
        "reason": st.sampled_from(["Running", "Successful", ""]) | JSON,
        "lastTransitionTime": TIMES | JSON,
        "observedGeneration": st.just(3) | JSON,
        "ansibleResult": st.fixed_dictionaries({"completion": TIMES}) | JSON,
    },
)
STATUS = st.fixed_dictionaries({"conditions": st.lists(CONDITION | JSON, max_size=4) | JSON}) | JSON
WATCH = Watch(GroupVersionKind("", "v1", "Thing"), Content(Path("/roles/x"), is_role=True))


@given(STATUS, st.sampled_from([3, 0]), st.booleans())
def test_whatever_somebody_wrote_into_the_status_a_run_is_planned_and_reported(
    found: Any, generation: int, at_start: bool
) -> None:
    body = {"metadata": {"generation": generation}, "status": found}
    trigger = Trigger.START if at_start else Trigger.CHANGED
    assert plan(body, WATCH, Defaults(reconcile_at_start=False), Occasion(MOMENT.now, frozenset({trigger})))
    status.failing_with(body)
    status.interrupted(body, MOMENT)
    for new in (
        status.running(body, MOMENT),
        status.succeeded(body, MOMENT, STATS),
        status.failed(body, MOMENT, "no", STATS),
        status.refused(body, MOMENT, "no"),
    ):
        assert all(isinstance(item, dict) for item in new["conditions"])
        assert not nested_deeper(new, LEVELS)
