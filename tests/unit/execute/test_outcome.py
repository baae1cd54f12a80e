"""What a run's events add up to."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from runner.execute.outcome import Ending, Outcome, State, conclude, fold
from runner.execute.output import completion
from runner.execute.run import Event

REQUEUE = "operator_sdk.util.requeue_after"


def event(kind: str, stdout: str = "", **data: Any) -> Event:
    return {"event": kind, "stdout": stdout, "created": "2026-01-02T03:04:05.600000+00:00", "event_data": data}


def failed(msg: Any, host: str = "localhost", **data: Any) -> Event:
    return event("runner_on_failed", host=host, res={"msg": msg}, **data)


def recap(**counts: Any) -> Event:
    return event("playbook_on_stats", **{"ok": {"localhost": 1}, **counts})


def outcome(*events: Event, **options: Any) -> Outcome:
    state = reduce(fold, events, State())
    return conclude(state, **{"ending": Ending.FINISHED, "return_code": 0, **options})


def test_a_run_with_a_recap_and_no_failure_succeeded() -> None:
    assert outcome(recap()).succeeded


def test_the_counters_are_those_of_localhost() -> None:
    made = outcome(recap(ok={"localhost": 3, "web": 9}, changed={"localhost": 2}, skipped={"web": 4}))

    assert made.stats is not None
    assert (made.stats.ok, made.stats.changed, made.stats.skipped, made.stats.failures) == (3, 2, 0, 0)
    assert made.stats.completion == "2026-01-02T03:04:05.6+00:00"


@pytest.mark.parametrize(
    ("created", "shown"),
    [
        ("2026-01-02T03:04:05.123456+00:00", "2026-01-02T03:04:05.123456+00:00"),
        ("2026-01-02T03:04:05.120000+00:00", "2026-01-02T03:04:05.12+00:00"),
        ("2026-01-02T03:04:05.000000+00:00", "2026-01-02T03:04:05+00:00"),
        ("2026-01-02T03:04:50+00:00", "2026-01-02T03:04:50+00:00"),
    ],
)
def test_completion_has_no_zeros_at_the_end_of_its_fraction(created: str, shown: str) -> None:
    assert completion(created) == shown


def test_a_run_without_a_recap_has_no_stats_but_the_last_lines_of_output() -> None:
    made = outcome(event("verbose", "\x1b[0;31mERROR! no such role\x1b[0m"), event("verbose", "line two"))

    assert made.stats is None
    assert not made.succeeded
    assert made.tail == "ERROR! no such role\nline two"


def test_the_tail_of_output_is_bounded() -> None:
    made = outcome(*(event("verbose", f"{number} {'x' * 5000}") for number in range(100)))

    lines = made.tail.split("\n")
    assert len(lines) == 20
    assert lines[-1].startswith("99 ")
    assert max(map(len, lines)) <= 1000


def test_failure_messages_come_in_order_from_every_host() -> None:
    made = outcome(failed("a"), failed("b", host="web"), recap(failures={"localhost": 1, "web": 1}))

    assert made.messages == ("a", "b")


@pytest.mark.parametrize("result", [{"msg": {"not": "text"}}, {"msg": None}, {"censored": "…"}, {}, None])
def test_a_failure_without_a_text_of_its_own_is_an_unknown_one(result: Any) -> None:
    made = outcome(event("runner_on_failed", host="localhost", res=result), recap(failures={"localhost": 1}))

    assert made.messages == ("unknown playbook failure",)


def test_an_ignored_failure_does_not_fail_the_run() -> None:
    assert outcome(failed("x", ignore_errors=True), recap(ignored={"localhost": 1})).succeeded


def test_a_rescued_failure_does_not_fail_the_run() -> None:
    assert outcome(failed("x"), recap(rescued={"localhost": 1})).succeeded


def test_a_rescued_failure_counts_where_that_is_asked_for() -> None:
    assert outcome(failed("x"), recap(rescued={"localhost": 1}), rescued_tasks_fail=True).messages == ("x",)


def test_of_rescued_and_other_failures_the_last_ones_are_the_others() -> None:
    made = outcome(
        failed("rescued"),
        failed("rescued too", host="web"),
        failed("the cause"),
        failed("in its always"),
        recap(failures={"localhost": 2}, rescued={"localhost": 1, "web": 1}),
    )

    assert made.messages == ("the cause", "in its always")


def test_a_failure_that_only_the_recap_knows_fails_the_run() -> None:
    assert outcome(recap(failures={"web": 1})).messages == ("unknown playbook failure",)


def test_without_a_recap_every_failure_counts() -> None:
    assert outcome(failed("x")).messages == ("x",)


def test_what_ended_a_run_goes_before_failures_that_may_have_been_rescued() -> None:
    found = outcome(failed("maybe rescued"), ending=Ending.DEADLINE, deadline=20.0)
    assert [failure.cause.partition(" because")[0] for failure in found.failures] == [
        "The run was ended",
        "maybe rescued",
    ]


def test_an_unreachable_host_is_a_failure() -> None:
    made = outcome(event("runner_on_unreachable", host="web", res={"msg": "no route"}), recap(dark={"web": 1}))

    assert not made.succeeded
    assert made.unreachable
    assert made.messages == ("no route",)


def test_an_unreachable_host_that_was_ignored_does_not_fail_the_run() -> None:
    assert outcome(event("runner_on_unreachable", host="web", res={"msg": "no route"}), recap()).succeeded


def test_set_stats_is_published() -> None:
    assert outcome(recap(artifact_data={"answer": 42})).data == {"answer": 42}


@pytest.mark.parametrize(("period", "seconds"), [("5s", 5.0), ("1h30m", 5400.0), ("0", 0.0)])
def test_a_requeue_is_in_seconds(period: str, seconds: float) -> None:
    asked = event("runner_on_ok", task_action=REQUEUE, res={"period": period})

    assert outcome(asked, recap()).requeue_after == seconds


def test_the_first_requeue_counts() -> None:
    asked = [event("runner_on_ok", task_action="requeue_after", res={"period": p}) for p in ("5s", "9s")]

    assert outcome(*asked, recap()).requeue_after == 5.0


@pytest.mark.parametrize("period", ["20", "", None])
def test_a_requeue_that_is_no_duration_fails_the_run(period: Any) -> None:
    made = outcome(event("runner_on_ok", task_action=REQUEUE, res={"period": period}), recap())

    assert made.requeue_after is None
    (message,) = made.messages
    assert message.startswith("requeue_after: time: ")


@pytest.mark.parametrize(
    "result", [None, {}, {"skipped": True}, {"censored": "hidden"}], ids=["none", "empty", "skipped", "no_log"]
)
def test_a_requeue_task_without_a_period_is_a_task_like_any_other(result: Any) -> None:
    made = outcome(event("runner_item_on_skipped", task_action=REQUEUE, res=result), recap())

    assert made.succeeded
    assert made.requeue_after is None


def test_a_requeue_task_that_failed_is_a_failure() -> None:
    refused = failed("invalid time input", task_action="requeue_after")

    assert outcome(refused, recap(failures={"localhost": 1})).messages == ("invalid time input",)


def test_a_period_of_a_task_that_is_no_requeue_means_nothing() -> None:
    assert outcome(event("runner_on_ok", task_action="uri", res={"period": "5s"}), recap()).requeue_after is None


def test_events_without_data_are_harmless() -> None:
    assert outcome({"event": "verbose"}, {"event": "playbook_on_start", "event_data": None}, recap()).succeeded


@pytest.mark.parametrize("kind", ["runner_on_ok", "runner_item_on_ok"])
def test_facts_that_a_role_sets_are_known(kind: str) -> None:
    state = fold(State(), event(kind, task_action="ansible.builtin.set_fact", res={"ansible_facts": {"a": 1}}))
    state = fold(state, event(kind, task_action="set_fact", res={"ansible_facts": {"b": 2}}))
    assert dict(state.facts) == {"a": 1, "b": 2}


def test_facts_that_are_gathered_or_censored_are_not() -> None:
    gathered = event("runner_on_ok", task_action="gather_facts", res={"ansible_facts": {"a": 1}})
    censored = event("runner_on_ok", task_action="set_fact", res={"censored": "the output has been hidden"})
    assert dict(fold(fold(State(), gathered), censored).facts) == {}


def test_the_first_tasks_that_changed_something_are_named() -> None:
    tasks = [
        event("runner_on_ok", task=f"site : Task {n}", role="site", res={"changed": n != 2}) for n in range(1, 15)
    ]
    assert outcome(*tasks, recap()).changed == ("Task 1", *(f"Task {n}" for n in range(3, 12)))


def meta(words: str, kind: str = "playbook_on_task_start") -> Event:
    return event(kind, task_action="meta", task_args=words)


@pytest.mark.parametrize(
    "words", ["_raw_params=end_play", "_raw_params=end_host", "_raw_params=end_role", "hidden"]
)
def test_a_meta_task_that_ends_something_early_leaves_a_part_out(words: str) -> None:
    assert outcome(meta(words), recap(ok={"localhost": 1})).left_out == (
        "a meta task ended a play, batch, role or host of it early"
    )


@pytest.mark.parametrize(
    "events",
    [
        [meta("_raw_params=flush_handlers")],
        [meta("_raw_params=end_play"), meta("_raw_params=end_play", "runner_on_skipped")],
        [event("playbook_on_task_start", task_action="debug", task_args="msg=end_play")],
    ],
    ids=["flushes handlers", "is skipped", "is another task"],
)
def test_nothing_is_left_out_by_a_task_that(events: list[Event]) -> None:
    assert outcome(*events, recap(ok={"localhost": 1})).left_out == ""


@pytest.mark.parametrize(
    "warning",
    [
        event("playbook_on_no_hosts_matched", stdout="skipping: no hosts matched"),
        event("warning", stdout="[WARNING]: Could not match supplied host pattern, ignoring: workers"),
        event("verbose", stdout="[WARNING]: Unable to parse /tmp/hosts as an inventory source"),
        event(
            "warning", stdout="[WARNING]: Could not match supplied host pattern, ignoring:\nworkers_of_amsterdam"
        ),
        event("warning", stdout="[WARNING]: Unable to parse /tmp/my hosts/of all\nsites as an inventory source"),
    ],
)
def test_hosts_that_are_missing_leave_plays_out(warning: Event) -> None:
    found = outcome(warning, recap(ok={"localhost": 1}))
    assert found.succeeded
    assert found.left_out.startswith("a play of it had no hosts, or not all")


def started(job: str, **result: Any) -> Event:
    return event("runner_on_ok", task_action="shell", res={"ansible_job_id": job, **result})


def test_a_task_that_still_goes_on_in_the_background_leaves_the_run_incomplete() -> None:
    found = outcome(started("1.2", finished=0), started("1.3", finished=True), recap(ok={"localhost": 2}))
    assert found.left_out == "a task of it still went on in the background (async)"


def test_a_task_in_the_background_that_the_run_waited_for_is_complete() -> None:
    assert (
        outcome(started("1.2", finished=0), started("1.2", finished=1), recap(ok={"localhost": 2})).left_out == ""
    )
