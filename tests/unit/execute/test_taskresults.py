"""What is told of the tasks of a run by its events."""

from __future__ import annotations

from typing import Any

import pytest

from runner.execute.taskresults import TaskResult, task_results

PATH = "/opt/ansible/roles/website/tasks/main.yml"


def event(kind: str, task: str, result: dict[str, Any] | None = None, **data: Any) -> dict[str, Any]:
    number = len(task)
    told = {"task": f"website : {task}", "role": "website", "task_uuid": task, "task_path": f"{PATH}:{number}"}
    ended = {"host": "localhost", "res": result, "duration": 0.25} if result is not None else {}
    return {"event": kind, "event_data": {**told, **ended, **data}, "stdout": ""}


def start(task: str) -> dict[str, Any]:
    return event("playbook_on_task_start", task)


def recap(**counts: int) -> dict[str, Any]:
    return {"event": "playbook_on_stats", "event_data": {name: {"localhost": n} for name, n in counts.items()}}


def words(*events: dict[str, Any]) -> list[tuple[str, str]]:
    return [(task.name, task.result) for task in task_results(events)]


def test_tasks_are_told_in_order_with_place_and_time() -> None:
    found = task_results([start("ab"), event("runner_on_ok", "ab", {"changed": True}), start("c")])
    assert found == [
        TaskResult("ab", "roles/website/tasks/main.yml:2", "changed", 0.25),
        TaskResult("c", "roles/website/tasks/main.yml:1", "unfinished"),
    ]


@pytest.mark.parametrize(
    ("kind", "result", "more", "word"),
    [
        ("runner_on_ok", {"changed": False}, {}, "ok"),
        ("runner_on_ok", {"changed": "yes"}, {}, "ok"),
        ("runner_on_skipped", {}, {}, "skipped"),
        ("runner_on_failed", {"msg": "no"}, {}, "failed"),
        ("runner_on_failed", {"msg": "no"}, {"ignore_errors": True}, "ignored"),
        ("runner_on_unreachable", {"msg": "no"}, {}, "unreachable"),
    ],
)
def test_what_came_of_a_task_is_a_word(kind: str, result: dict[str, Any], more: dict[str, Any], word: str) -> None:
    assert words(start("a"), event(kind, "a", result, **more)) == [("a", word)]


def test_a_failure_is_told_with_its_message_and_item() -> None:
    loop = {"msg": "One or more items failed", "results": [{"changed": True}, {"failed": True, "msg": "no space"}]}
    (task,) = task_results([start("a"), event("runner_on_failed", "a", loop)])
    assert task.message == "no space (item 2 of 2)"


def test_failures_that_the_recap_counts_as_rescued_are_not_the_runs() -> None:
    events = [event("runner_on_failed", name, {"msg": "no"}) for name in ("a", "bb")]
    assert words(*events, recap(failures=1, rescued=1)) == [("a", "rescued"), ("bb", "failed")]


def test_a_task_of_several_hosts_is_told_for_each() -> None:
    hosts = [event("runner_on_ok", "a", {}, host=host) for host in ("one", "two")]
    assert words(start("a"), *hosts) == [("a", "ok"), ("a", "ok")]


def test_what_no_log_hides_is_not_told() -> None:
    hidden = {"censored": "the output has been hidden", "changed": False}
    (task,) = task_results([event("runner_on_failed", "a", hidden, task_args="password=canary")])
    assert (task.message, "canary" in repr(task)) == ("A task failed, and no_log hides its output", False)


@pytest.mark.parametrize("odd", [{}, {"event_data": 7}, {"event": "runner_on_ok", "event_data": {"res": 3}}])
def test_events_of_any_shape_are_no_trouble(odd: dict[str, Any]) -> None:
    assert len(task_results([odd, start("a")])) in (1, 2)
