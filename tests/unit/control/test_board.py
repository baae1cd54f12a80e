"""What the live table knows of each custom resource."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runner.config.watches import Content, Watch
from runner.control.attempt import Attempt, Result, Verdict
from runner.control.board import Board, Row, State, because
from runner.control.pause import PAUSED
from runner.control.request import Reason, Reasons, Request, Trigger
from runner.control.timers import Stages, Stopwatch
from runner.execute.outcome import Ending, Outcome, Stats
from runner.execute.run import Run
from runner.kube.listwatch import Change, What
from runner.objects import GroupVersionKind, ObjectKey, parse_meta

WEBSITE = GroupVersionKind("example.com", "v1", "Website")
KEY = ObjectKey(WEBSITE, "default", "blog")
ROOT = Path("/project")
WATCH = Watch(WEBSITE, Content(ROOT / "roles" / "website", is_role=True))
RUN = Run("7", KEY, "uid", WATCH.content, {}, "")


class Stopped(Stopwatch):
    def __init__(self) -> None:
        super().__init__(lambda: 0.0, 0.0)

    def stages(self) -> Stages:
        return Stages(ansible=3.1)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board(clock: Clock) -> Board:
    """With one custom resource, of which nothing is known yet."""
    board = Board(ROOT, clock)
    appear(board, "blog")
    return board


def appear(board: Board, name: str, gvk: GroupVersionKind = WEBSITE) -> None:
    board.changed(Change(What.ADDED, gvk, None, meta(name)))


def meta(name: str) -> Any:
    return parse_meta({"metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"}})


def attempt(trigger: Trigger = Trigger.CHANGED, failure: str = "", **body: Any) -> Attempt:
    request = Request(KEY, frozenset({trigger}), reasons=Reasons.of(trigger))
    found = Attempt(request, WATCH, Stopped(), lambda: datetime.now(UTC), body=body)
    found.run, found.outcome, found.failure = RUN, Outcome(Ending.FINISHED, 0, Stats(ok=6, changed=2)), failure
    return found


def event(kind: str, task: str, place: str = f"{ROOT}/roles/website/tasks/main.yml:5") -> dict[str, Any]:
    return {"event": kind, "event_data": {"task": task, "task_path": place}}


def only(board: Board) -> Row:
    (row,) = board.rows()
    return row


def fail(board: Board, why: str = "no such image") -> None:
    board.started(attempt())
    board(RUN, event("playbook_on_task_start", "Pull"))
    board(RUN, event("runner_on_failed", "Pull"))
    board.finished(attempt(failure=why), Result(Verdict.FAILED))


def test_resource_without_a_run_waits_for_one(board: Board) -> None:
    assert (only(board).state, only(board).seconds(0), only(board).doing(0)) == (State.WAITING, "", "")


def test_run_under_way_has_its_reason_its_task_and_its_time(board: Board, clock: Clock) -> None:
    board.started(attempt(Trigger.CONTENT))
    board(RUN, event("playbook_on_task_start", "Pull"))
    row = only(board)
    assert (row.state, row.why) == (State.RUNNING, "saved")
    assert row.doing(clock.now) == "Pull (roles/website/tasks/main.yml:5)"
    assert row.seconds(clock.now + 2.5) == "2.5 s"


def test_task_of_the_play_around_a_role_has_no_place(board: Board, clock: Clock) -> None:
    board.started(attempt())
    board(RUN, event("playbook_on_task_start", "Gathering Facts", "/tmp/runs/project/abc:1"))
    assert only(board).doing(clock.now) == "Gathering Facts"


def test_good_run_leaves_its_figures(board: Board) -> None:
    board.started(attempt())
    board.finished(attempt(), Result(Verdict.SUCCEEDED))
    row = only(board)
    assert (row.state, row.seconds(0), row.doing(0)) == (State.SUCCESSFUL, "3.1 s", "6 ok, 2 changed")


def test_failure_says_why_and_where_and_when_the_next_try_is(board: Board, clock: Clock) -> None:
    fail(board)
    board.followed(KEY, 40.0)
    row = only(board)
    assert row.failure == "no such image (Pull, roles/website/tasks/main.yml:5)"
    assert row.doing(clock.now) == f"next try in 40 s: {row.failure}"


def test_failure_stays_while_the_next_try_runs_and_goes_with_its_success(board: Board) -> None:
    fail(board)
    board.started(attempt(Trigger.RETRY))
    assert only(board).failure
    board.finished(attempt(), Result(Verdict.SUCCEEDED))
    assert not only(board).failure


def test_skipped_reconcile_changes_nothing_but_that_of_a_paused_one(board: Board) -> None:
    board.started(attempt())
    board.finished(attempt(), Result(Verdict.SUCCEEDED))
    board.finished(attempt(), Result(Verdict.SKIPPED))
    assert only(board).state is State.SUCCESSFUL

    board.finished(attempt(metadata={"annotations": {PAUSED: "true"}}), Result(Verdict.SKIPPED))
    assert only(board).state is State.PAUSED


def test_what_was_deleted_has_no_row_also_where_its_run_ends_afterwards(board: Board) -> None:
    board.started(attempt(Trigger.DELETING))
    board.changed(Change(What.GONE, WEBSITE, meta("blog"), None))
    board.finished(attempt(), Result(Verdict.SUCCEEDED))
    assert board.rows() == []


def test_kinds_that_are_watched_no_more_have_no_rows(board: Board) -> None:
    appear(board, "other", GroupVersionKind("example.com", "v1", "Other"))
    board.only([WEBSITE])
    assert only(board).key == KEY


def test_of_too_many_rows_those_are_kept_that_are_worth_looking_at(board: Board) -> None:
    for name in "abc":
        appear(board, name)
    fail(board)
    assert [row.key.name for row in board.rows(2)] == ["a", "blog"]
    assert board.counts() == {State.FAILING: 1, State.WAITING: 3}


def test_mistakes_of_a_file_are_there_until_it_is_mended(board: Board) -> None:
    board.mistakes("watches.yaml", ["watches.yaml:3: wrong"])
    assert board.files == {"watches.yaml": ("watches.yaml:3: wrong",)}
    board.mistakes("watches.yaml", ())
    assert board.files == {}


def test_reason_names_the_object_that_changed() -> None:
    config = ObjectKey(GroupVersionKind("", "v1", "ConfigMap"), "default", "blog")
    reasons = Reasons((Reason(Trigger.DEPENDENT, config, "kubectl-edit", ("data",)),))
    assert because(reasons, frozenset()) == "ConfigMap default/blog changed by kubectl-edit: data"
