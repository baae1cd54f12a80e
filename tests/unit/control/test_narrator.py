"""What a person on a terminal reads of runs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from runner.config.watches import Content, Watch
from runner.control.attempt import Attempt, Result, Verdict
from runner.control.narrator import HELD, Narrator, cause, duration, ordinal, reason, task_line
from runner.control.request import Request, Trigger
from runner.control.timers import Stages, Stopwatch
from runner.execute.outcome import Ending, Outcome, Stats
from runner.execute.run import Event, Run
from runner.objects import GroupVersionKind, ObjectKey

KEY = ObjectKey(GroupVersionKind("example.com", "v1", "Website"), "default", "blog")
ROOT = Path("/project")
WATCH = Watch(KEY.gvk, Content(ROOT / "roles" / "website", is_role=True))
FAILED = Outcome(Ending.FINISHED, 2, Stats(ok=1, failures=1))


class Stopped(Stopwatch):
    def __init__(self) -> None:
        super().__init__(lambda: 0.0, 0.0)

    def stages(self) -> Stages:
        return Stages(ansible=3.1)


class Terminal:
    """A narrator, and the lines that it has said."""

    def __init__(self, *, tasks: bool = True) -> None:
        self.now = 0.0
        self.narrator = Narrator(lambda run: Path("/runs", run.ident), ROOT, lambda: self.now, tasks=tasks)
        self.logs: list[Any] = []
        self._ident = 0

    def run(
        self,
        *events: Event,
        outcome: Outcome | None = None,
        failure: str = "",
        trigger: Trigger = Trigger.CHANGED,
        result: Result | None = None,
        delay: float | None = None,
    ) -> list[str]:
        """What is said of one reconcile, from its start to what follows it."""
        self._ident += 1
        outcome = outcome or Outcome(Ending.FINISHED, 0, Stats(ok=6, changed=2))
        attempt = Attempt(Request(KEY, frozenset({trigger})), WATCH, Stopped(), lambda: datetime.now(UTC))
        attempt.run = run = Run(str(self._ident), KEY, "uid", WATCH.content, {}, "")
        attempt.outcome, attempt.failure = outcome, failure
        result = result or Result(Verdict.FAILED if failure else Verdict.SUCCEEDED)
        with capture_logs() as logs:
            self.narrator.started(attempt)
            for event in events:
                self.narrator(run, event)
            self.narrator.finished(attempt, result)
            self.narrator.followed(KEY, delay)
        self.logs += logs
        return [f"{record['event']}" for record in logs]

    def fails(self, failure: str = "no such image", **more: Any) -> list[str]:
        return self.run(
            task("Pull", "runner_on_failed"),
            outcome=FAILED,
            failure=failure,
            delay=more.pop("delay", 40.0),
            **more,
        )


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


def task(name: str, kind: str = "runner_on_ok", **data: Any) -> Event:
    place = {"task_path": f"{ROOT}/roles/website/tasks/main.yml:5", "role": "website", "duration": 1.23}
    result = {"res": {"changed": kind == "runner_on_ok"}}
    return {"event": kind, "event_data": {"task": f"website : {name}", **place, **result, **data}}


def test_a_run_is_a_line_for_its_start_for_each_change_and_for_its_end(terminal: Terminal) -> None:
    assert terminal.run(task("Create"), task("Look", res={"changed": False})) == [
        "Website default/blog: running roles/website, because its spec changed",
        "Website default/blog: changed: Create (roles/website/tasks/main.yml:5), 1.2 s",
        "Website default/blog: succeeded in 3.1 s (6 ok, 2 changed)",
    ]


def test_a_run_of_six_tasks_is_at_most_nine_lines(terminal: Terminal) -> None:
    changes = [task(f"Task {number}") for number in range(5)]
    lines = terminal.run(*changes, task("Last", "runner_on_failed"), outcome=FAILED, failure="no", delay=1.0)
    assert sum(len(line.splitlines()) for line in lines) == 9


def test_a_failure_is_told_once_with_its_cause_its_place_and_where_the_whole_output_is(terminal: Terminal) -> None:
    assert terminal.fails() == [
        "Website default/blog: running roles/website, because its spec changed",
        "Website default/blog: failed: Pull (roles/website/tasks/main.yml:5), 1.2 s",
        "Website default/blog: failed after 3.1 s: no such image (Pull, roles/website/tasks/main.yml:5)\n"
        "next try in 40 s, whole output: /runs/1",
    ]
    assert terminal.logs[-1]["log_level"] == "error"


def test_whoever_wants_nothing_of_tasks_still_reads_how_runs_go_and_where_they_fail() -> None:
    start, end = Terminal(tasks=False).fails()
    assert "running roles/website" in start
    assert "no such image (Pull, roles/website/tasks/main.yml:5)" in end


def test_its_repetitions_are_one_line_each(terminal: Terminal) -> None:
    terminal.fails()
    terminal.fails(trigger=Trigger.RETRY)
    assert terminal.fails(trigger=Trigger.RETRY, delay=80.0) == [
        "Website default/blog: failed again, the same, 3rd time, next try in 1 min 20 s"
    ]


def test_a_thousand_identical_failures_are_under_two_thousand_lines(terminal: Terminal) -> None:
    lines = [line for _ in range(1000) for line in terminal.fails(trigger=Trigger.RETRY)]
    assert sum(len(line.splitlines()) for line in lines) < 1010


def test_another_failure_is_told_in_full_again(terminal: Terminal) -> None:
    terminal.fails()
    lines = terminal.fails("no such registry", trigger=Trigger.RETRY)
    assert len(lines) == 3
    assert "no such registry" in lines[-1]


def test_a_repetition_that_succeeds_is_told_as_any_run(terminal: Terminal) -> None:
    terminal.fails()
    lines = terminal.run(task("Create"), trigger=Trigger.RETRY)
    assert lines[0] == "Website default/blog: running roles/website, because the last try failed"
    assert len(lines) == 3


def test_after_a_success_the_same_failure_is_new(terminal: Terminal) -> None:
    terminal.fails()
    terminal.run()
    assert len(terminal.fails()) == 3


def test_a_change_is_told_at_once_though_the_last_run_failed(terminal: Terminal) -> None:
    terminal.fails()
    lines = terminal.fails()
    assert lines[0] == "Website default/blog: running roles/website, because its spec changed"
    assert lines[-1] == "Website default/blog: failed again, the same, 2nd time, next try in 40 s"


def test_a_repetition_that_takes_long_is_told_while_it_runs(terminal: Terminal) -> None:
    terminal.fails()
    attempt = Attempt(Request(KEY, frozenset({Trigger.RETRY})), WATCH, Stopped(), lambda: datetime.now(UTC))
    attempt.run = Run("long", KEY, "uid", WATCH.content, {}, "")
    with capture_logs() as logs:
        terminal.narrator.started(attempt)
        assert logs == []
        terminal.now += HELD + 1
        terminal.narrator(attempt.run, task("Create"))
        assert len(logs) == 2


def test_nothing_run_is_said_with_the_reason(terminal: Terminal) -> None:
    attempt = Attempt(Request(KEY, frozenset({Trigger.CREATED})), WATCH, Stopped(), lambda: datetime.now(UTC))
    attempt.failure = "the API server is away"
    with capture_logs() as logs:
        terminal.narrator.finished(attempt, Result(Verdict.FAILED))
        terminal.narrator.followed(KEY, 0.005)
    assert logs[0]["event"] == (
        "Website default/blog: cannot be reconciled: the API server is away\nnext try at once"
    )


def test_a_run_that_asks_to_be_run_again_says_when(terminal: Terminal) -> None:
    lines = terminal.run(result=Result(Verdict.REQUEUED, 30.0, Trigger.REQUEUED))
    assert lines[-1].endswith("(6 ok, 2 changed), again in 30 s")


def test_a_run_that_the_end_of_the_operator_ends_is_said_to_be_unfinished(terminal: Terminal) -> None:
    lines = terminal.run(result=Result(Verdict.CANCELLED))
    assert lines[-1] == "Website default/blog: ended unfinished after 3.1 s, because the operator stops"


def test_an_object_that_is_gone_is_forgotten(terminal: Terminal) -> None:
    terminal.fails()
    terminal.run(result=Result(Verdict.GONE))
    assert len(terminal.fails()) == 3


def test_an_ignored_failure_is_said_to_be_ignored() -> None:
    line = task_line(task("Try", "runner_on_failed", ignore_errors=True), ROOT)
    assert line == "failed: Try (roles/website/tasks/main.yml:5), 1.2 s, which the role ignores"


def test_an_unreachable_host_is_told(terminal: Terminal) -> None:
    assert task_line(task("Ask", "runner_on_unreachable"), ROOT).startswith("unreachable: Ask ")


@pytest.mark.parametrize(
    "event",
    [
        {"event": "verbose", "stdout": "noise"},
        task("Look", "runner_on_skipped"),
        task("Item", "runner_item_on_failed"),
        {"event": "runner_on_ok", "event_data": {"task": "odd", "res": "text"}},
    ],
)
def test_other_events_are_no_line(event: Event) -> None:
    assert task_line(event, ROOT) == ""


@pytest.mark.parametrize(
    ("message", "task", "text"),
    [
        ("no such image", "Pull (main.yml:5)", "no such image (Pull, main.yml:5)"),
        ("no such image (Pull, main.yml:5)", "Pull (main.yml:5)", "no such image (Pull, main.yml:5)"),
        ("no such image", "Pull", "no such image (Pull)"),
        ("no such image", "", "no such image"),
    ],
)
def test_the_place_is_said_where_the_message_does_not(message: str, task: str, text: str) -> None:
    assert cause(message, task) == text


def test_the_most_urgent_reason_is_said_first() -> None:
    assert reason({Trigger.DEPENDENT, Trigger.CHANGED}) == "its spec changed and a dependent changed"


def test_a_period_that_was_waited_for_is_no_reason_beside_a_change() -> None:
    assert reason({Trigger.PERIOD, Trigger.CHANGED}) == "its spec changed"


def test_every_trigger_is_a_reason() -> None:
    assert all(map(reason, ([trigger] for trigger in Trigger)))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (3.14, "3.1 s"), (40.0, "40 s"), (125.0, "2 min 5 s"), (7260.0, "2 h 1 min")],
)
def test_durations_are_said_as_people_do(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("number", "text"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (22, "22nd")])
def test_ordinals(number: int, text: str) -> None:
    assert ordinal(number) == text
