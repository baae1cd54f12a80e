"""What is said of a run that takes long, and that saying it costs the final status nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from runner.config.watches import Content, Watch
from runner.control.attempt import Result, UnderWay, Verdict
from runner.control.plan import Defaults
from runner.control.progress import EVERY, message
from runner.control.reconciler import Reconciler
from runner.control.request import Request, Trigger
from runner.control.status import Moment, failed, find, running, running_still, succeeded
from runner.errors import UnreachableError
from runner.execute.outcome import Outcome
from runner.execute.run import Run, Sink
from runner.objects import ObjectKey
from tests.fixtures.fake_executor import FakeExecutor
from tests.fixtures.fake_objects import Json
from tests.fixtures.waiting import until
from tests.unit.control.test_reconciler import FAILURE, KEY, SUCCESS, WATCH, Scene, scene

__all__ = ["scene"]

ROLE = Content(Path("/opt/ansible/roles/website"), is_role=True)
TASK = {"task": "Wait for the\n Deployment", "task_path": "/opt/ansible/roles/website/tasks/main.yml:12"}
SINCE = datetime(2026, 11, 22, 2, tzinfo=UTC)
MOMENT = Moment(SINCE, 1)


def run(task: dict[str, Any] | None = None, content: Content = ROLE) -> UnderWay:
    return UnderWay(content, {}, SINCE, 0.0, task or {})


def started(name: str) -> dict[str, Any]:
    path = f"/roles/apple/tasks/main.yml:{len(name)}"
    return {"event": "playbook_on_task_start", "event_data": {"task": name, "task_path": path}}


def failure(**data: Any) -> dict[str, Any]:
    path = {"task_path": "/opt/ansible/roles/website/tasks/main.yml:3", "task_action": "k8s"}
    return {"event": "runner_on_failed", "event_data": {**path, **data}}


def test_a_run_is_told_by_its_age_its_start_and_its_task() -> None:
    assert message(185, run(TASK)) == (
        'Running for 3 min, since 2026-11-22T02:00:00Z: task "Wait for the Deployment" '
        "(roles/website/tasks/main.yml:12)"
    )


@pytest.mark.parametrize(
    ("seconds", "spoken"), [(60, "1 min"), (3599, "59 min"), (3600, "1 h"), (3700, "1 h 1 min"), (90000, "25 h")]
)
def test_an_age_is_told_in_minutes_and_hours(seconds: float, spoken: str) -> None:
    assert message(seconds, run(TASK)).startswith(f"Running for {spoken}, ")


def test_a_run_that_has_not_come_to_a_task_says_so() -> None:
    assert message(60, run()).endswith(": no task has started yet")


def test_the_name_of_a_task_is_bounded() -> None:
    assert len(message(60, run({"task": "x" * 9999}))) < 300


def test_the_tasks_that_failed_are_noted_but_not_those_that_may_fail() -> None:
    under_way, of_no_matter = run(), {"event": "runner_on_ok", "event_data": {"task": "x"}}
    for event in (failure(), failure(ignore_errors=True), of_no_matter, {"event": "verbose"}):
        under_way.note(cast(Run, None), event)
    assert under_way.failed == [("k8s", "roles/website/tasks/main.yml:3")]


def condition(status: Json) -> Json:
    return find(status["conditions"], "Running") or {}


def test_progress_changes_the_message_and_not_since_when_it_runs() -> None:
    begun = running({}, MOMENT)
    later = running_still({"status": begun}, Moment(datetime(2026, 11, 23, tzinfo=UTC), 1), "Running for 1 min")
    assert condition(later) == {**condition(begun), "message": "Running for 1 min"}


def test_progress_is_not_told_of_an_object_that_does_not_say_that_it_runs() -> None:
    over = succeeded({"status": running({}, MOMENT)}, MOMENT, None)
    assert running_still({"status": over}, MOMENT, "Running for 1 min") == over


def test_the_progress_of_a_former_run_is_not_kept() -> None:
    told = running_still({"status": running({}, MOMENT)}, MOMENT, "Running for 1 min")
    for status in (running({"status": told}, MOMENT), failed({"status": told}, MOMENT, "it broke", None)):
        assert condition(status)["message"] == "Running reconciliation"


class Slow(Scene):
    """A reconcile whose run lasts until `over`: its first minute is a moment, `minute` lets another one pass."""

    def __init__(self, watch: Watch = WATCH) -> None:
        self.over, self.passed = asyncio.Event(), asyncio.Semaphore(0)
        self.note: Sink = lambda _run, _event: None
        super().__init__(watch)
        self.objects.create(KEY, {"size": 1})
        self.executor = Working(self)
        self.reconciler = self.made(watch)
        self.reconciling: asyncio.Task[Result] | None = None

    def made(self, watch: Watch = WATCH, defaults: Defaults | None = None) -> Reconciler:
        made = super().made(watch, defaults)
        made._progress.every = 0.001
        return made

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self.passed.acquire()

    def minute(self) -> None:
        self.passed.release()

    def start(self) -> None:
        self.reconciling = asyncio.create_task(self.reconcile())

    async def end(self) -> Result:
        assert self.reconciling is not None
        self.over.set()
        async with asyncio.timeout(5):
            return await self.reconciling

    @property
    def message(self) -> str:
        return str(self.conditions.get("Running", {}).get("message", ""))

    def statuses(self) -> int:
        return self.objects.calls.count("replace_status")


class Working(FakeExecutor):
    def __init__(self, scene: Slow) -> None:
        super().__init__()
        self.scene = scene

    async def run(self, run: Run, sink: Sink = lambda _run, _event: None) -> Outcome:
        sink(run, started("Wait"))
        self.scene.note = lambda _run, event: sink(run, event)
        await self.scene.over.wait()
        return SUCCESS


@pytest.fixture
async def slow() -> AsyncIterator[Slow]:
    scene = Slow()
    yield scene
    scene.over.set()
    if scene.reconciling is not None:
        await asyncio.gather(scene.reconciling, return_exceptions=True)


def test_a_run_is_first_told_of_when_it_is_a_minute_old() -> None:
    assert EVERY == 60
    assert Scene().reconciler._progress.every == EVERY


async def test_a_run_that_is_over_soon_is_not_told_of(scene: Scene) -> None:
    await scene.reconcile()
    assert scene.objects.calls == ["get", "replace_status", "replace_status"]


async def test_a_run_that_lasts_is_told_of_once_a_minute(slow: Slow) -> None:
    slow.start()
    await until(lambda: 'task "Wait" (roles/apple/tasks/main.yml:4)' in slow.message)
    assert slow.slept == [slow.reconciler._progress.every]
    slow.note(cast(Run, None), started("Create"))
    assert "Create" not in slow.message
    slow.minute()
    await until(lambda: "Create" in slow.message)
    assert slow.states()["Running"] == ("True", "Running")


async def test_the_final_status_is_written_on_top_of_the_progress(slow: Slow) -> None:
    slow.start()
    await until(lambda: "Wait" in slow.message)
    assert (await slow.end()).verdict is Verdict.SUCCEEDED
    assert slow.objects.calls == ["get", *["replace_status"] * 3]
    assert slow.message == "Awaiting next reconciliation"


async def test_a_progress_that_is_being_written_delays_nothing(slow: Slow) -> None:
    async def hang(call: str, key: ObjectKey) -> None:
        if slow.statuses() == 2:
            await asyncio.Event().wait()

    slow.objects.before = hang
    slow.start()
    await until(lambda: slow.statuses() == 2)
    assert (await slow.end()).verdict is Verdict.SUCCEEDED
    assert slow.states()["Successful"] == ("True", "Successful")


async def test_a_progress_that_arrives_late_is_followed_by_the_final_status(slow: Slow) -> None:
    """The answer did not reach us, but the server has written it."""

    async def lose(call: str, key: ObjectKey) -> None:
        if slow.statuses() == 2:
            slow.objects.edit(
                key, lambda body: body["status"]["conditions"][0].update(message="Running for 1 min")
            )
            await asyncio.Event().wait()

    slow.objects.before = lose
    slow.start()
    await until(lambda: slow.message == "Running for 1 min")
    assert (await slow.end()).verdict is Verdict.SUCCEEDED
    assert slow.message == "Awaiting next reconciliation"


async def test_what_somebody_else_wrote_meanwhile_is_kept(slow: Slow) -> None:
    slow.start()
    await until(lambda: "Wait" in slow.message)
    slow.objects.edit(KEY, lambda body: body["status"].update(theirs=1))
    slow.objects.edit(KEY, lambda body: body["spec"].update(size=2))
    slow.note(cast(Run, None), started("Create"))
    slow.minute()
    await until(lambda: "Create" in slow.message)
    assert slow.stored["status"]["theirs"] == 1
    assert slow.conditions["Running"]["observedGeneration"] == 1
    await slow.end()
    assert (slow.stored["status"]["theirs"], slow.conditions["Successful"]["observedGeneration"]) == (1, 1)


async def test_nothing_is_told_to_another_object_of_the_same_name(slow: Slow) -> None:
    slow.start()
    await until(lambda: "Wait" in slow.message)
    slow.objects.delete(KEY)
    slow.objects.create(KEY, {"size": 9})
    slow.minute()
    await until(lambda: len(slow.slept) == 2)
    assert "status" not in slow.stored
    await slow.end()
    assert "status" not in slow.stored


async def test_a_progress_that_cannot_be_written_is_tried_again_a_minute_later(slow: Slow) -> None:
    async def refuse(call: str, key: ObjectKey) -> None:
        if slow.statuses() == 2:
            raise UnreachableError("no answer")

    slow.objects.before = refuse
    slow.start()
    await until(lambda: slow.slept)
    assert slow.message == "Running reconciliation"
    slow.minute()
    await until(lambda: "Wait" in slow.message)
    assert (await slow.end()).verdict is Verdict.SUCCEEDED


async def test_a_run_that_is_cancelled_says_that_it_was(slow: Slow) -> None:
    slow.start()
    await until(lambda: "Wait" in slow.message)
    assert slow.reconciling is not None
    slow.reconciling.cancel()
    await asyncio.gather(slow.reconciling, return_exceptions=True)
    assert slow.states()["Running"] == ("False", "Interrupted")
    slow.minute()
    await asyncio.sleep(0)
    assert slow.states()["Running"] == ("False", "Interrupted")


async def test_progress_is_not_told_where_the_status_is_not_managed() -> None:
    slow = Slow(replace(WATCH, manage_status=False))
    slow.start()
    await until(lambda: slow.slept)
    await slow.end()
    assert slow.objects.calls == ["get"]


async def test_the_age_of_a_run_is_known_while_it_lasts(slow: Slow) -> None:
    slow.start()
    await until(lambda: "Wait" in slow.message)
    assert slow.reconciler.ages()[KEY] > 0
    await slow.end()
    assert slow.reconciler.ages() == {}


async def test_a_failed_task_is_reported_with_its_module_and_place(scene: Scene) -> None:
    scene.executor = Failing()
    await scene.made().reconcile(Request(KEY, frozenset({Trigger.CREATED}), 0.0))
    assert scene.attempt.under_way is not None
    assert scene.attempt.under_way.failed == [("k8s", "roles/website/tasks/main.yml:3")]


class Failing(FakeExecutor):
    async def run(self, run: Run, sink: Sink = lambda _run, _event: None) -> Outcome:
        sink(run, failure())
        return FAILURE
