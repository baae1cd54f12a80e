"""The life cycle of a custom resource, against an API server and an executor in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from structlog.testing import capture_logs

from runner.config.watches import Content, Finalizer, Requirement, Selector, Watch
from runner.control.annotations import PERIOD, VERBOSITY
from runner.control.attempt import Attempt, Listeners, Result, Verdict
from runner.control.pause import MODE, PAUSED
from runner.control.plan import Defaults, Perform
from runner.control.reconciler import Reconciler
from runner.control.request import Reason, Reasons, Request, Trigger
from runner.control.timers import Stages
from runner.differences import Difference
from runner.errors import (
    ApiError,
    ForbiddenError,
    InvalidError,
    KindAbsentError,
    NestedError,
    RunError,
    UnreachableError,
)
from runner.execute.failure import Failure
from runner.execute.outcome import Ending, Outcome, Stats
from runner.execute.run import Run
from runner.execute.variables import variable_name
from runner.kube.clock import Clock
from runner.kube.recorder import Recorder
from runner.objects import Body, GroupVersionKind, ObjectKey, Owner
from runner.serve.grants import Grant
from tests.fixtures.fake_executor import FakeExecutor
from tests.fixtures.fake_objects import FakeObjects, Json
from tests.fixtures.waiting import until

APPLE = GroupVersionKind("fruit.example.com", "v1", "Apple")
KEY = ObjectKey(APPLE, "orchard", "a")
WATCH = Watch(APPLE, Content(Path("/roles/apple"), is_role=True))
FINALIZER = "fruit.example.com/f"
GOODBYE = Content(Path("/roles/goodbye"), is_role=True)
FINALIZING = replace(WATCH, finalizer=Finalizer(FINALIZER, GOODBYE, {"finalizing": True}))
OBJECT = variable_name(APPLE)
SECRET = "s3cr3t"
SUCCESS = Outcome(Ending.FINISHED, 0, Stats(ok=1, completion="2026-01-01T00:00:00+00:00"))
FAILURE = replace(SUCCESS, return_code=2, messages=("it broke",))


@dataclass(frozen=True)
class Pass:
    kubeconfig: str
    children: tuple[Body, ...]
    differences: tuple[Difference, ...] = ()
    unread: tuple[str, ...] = ()
    calls: frozenset[tuple[str, ...]] = frozenset()

    def only_dry_runs(self) -> None:
        """As every run here, for its executor is a fake."""


@dataclass
class FakeRecorder(Recorder):
    events: list[tuple[str, str, str]] = field(default_factory=list)

    def record(self, key: ObjectKey, uid: str, kind_of: str, reason: str, message: str) -> None:
        assert key == KEY
        assert uid.startswith("uid-")
        self.events.append((kind_of, reason, message))


class Scene:
    """A reconciler with everything around it faked, and short ways to ask what happened."""

    def __init__(self, watch: Watch = WATCH, defaults: Defaults | None = None) -> None:
        self.objects = FakeObjects()
        self.executor = FakeExecutor(SUCCESS)
        self.recorder = FakeRecorder()
        self.granted: list[Owner] = []
        self.open_grants = 0
        self.slept: list[float] = []
        self.told: str | None = None
        self.finished: list[tuple[Stages, Outcome | None, Verdict]] = []
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)
        self.reconciler = self.made(watch, defaults)

    def made(self, watch: Watch = WATCH, defaults: Defaults | None = None) -> Reconciler:
        """A reconciler with all this around it."""
        return Reconciler(
            {APPLE: watch},
            objects=self.objects,
            executor=self.executor,
            recorder=self.recorder,
            grant=self.grant,
            listeners=Listeners(self._finished),
            defaults=lambda _gvk: defaults or Defaults(),
            clock=Clock(
                wall=lambda: self.now.timestamp(), uniform=lambda low, high: (low + high) / 2, sleep=self.sleep
            ),
            told=lambda _key: self.told,
        )

    def _finished(self, attempt: Attempt, result: Result) -> None:
        self.attempt = attempt
        self.finished.append((attempt.stopwatch.stages(), attempt.outcome, result.verdict))

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    @contextmanager
    def grant(self, owner: Owner) -> Iterator[Grant]:
        self.granted.append(owner)
        self.open_grants += 1
        try:
            yield cast(Grant, Pass(f"kubeconfig of {owner.name}", ({"kind": "Pip"},)))
        finally:
            self.open_grants -= 1

    async def reconcile(self, *triggers: Trigger) -> Result:
        return await self.reconciler.reconcile(Request(KEY, frozenset(triggers or {Trigger.CREATED}), 1.5))

    def answer(self, answer: Outcome | Callable[[Run], Awaitable[Outcome]]) -> None:
        self.executor.answer = answer

    @property
    def stored(self) -> Json:
        return self.objects.stored[KEY]

    @property
    def conditions(self) -> dict[str, Json]:
        return {item["type"]: item for item in self.stored.get("status", {}).get("conditions", [])}

    def states(self) -> dict[str, tuple[str, str]]:
        return {kind: (item["status"], item["reason"]) for kind, item in self.conditions.items()}

    def reasons(self) -> list[str]:
        return [reason for _, reason, _ in self.recorder.events]


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    scene.objects.create(KEY, {"size": 1})
    return scene


@pytest.fixture
def mortal() -> Scene:
    """A scene whose watch has a finalizer."""
    scene = Scene(FINALIZING)
    scene.objects.create(KEY)
    return scene


SUCCEEDED = {
    "Running": ("True", "Successful"),
    "Successful": ("True", "Successful"),
    "Failure": ("False", ""),
}


async def test_a_run_ends_in_success_and_comes_again_after_its_period(scene: Scene) -> None:
    assert await scene.reconcile() == Result(Verdict.SUCCEEDED, 36000, Trigger.PERIOD, 1)
    assert scene.states() == SUCCEEDED


async def test_what_is_decided_and_why_is_told_to_whoever_debugs(scene: Scene) -> None:
    with capture_logs() as logs:
        await scene.reconcile(Trigger.CHANGED)
    (decided,) = [log for log in logs if log["event"] == "Decided"]
    assert (decided["log_level"], decided["triggers"]) == ("debug", ["changed"])
    assert isinstance(decided["step"], Perform)


async def test_a_reconcile_costs_one_read_and_two_writes(scene: Scene) -> None:
    await scene.reconcile()
    assert scene.objects.calls == ["get", "replace_status", "replace_status"]


async def test_the_run_gets_the_object_as_running_and_access_of_its_own(scene: Scene) -> None:
    await scene.reconcile()
    (run,) = scene.executor.runs
    assert run.extra_vars[OBJECT]["status"]["conditions"][0]["reason"] == "Running"
    assert run.kubeconfig == "kubeconfig of a"
    assert scene.granted == [Owner(APPLE, "orchard", "a", scene.stored["metadata"]["uid"])]
    assert scene.open_grants == 0


async def test_the_operators_options_reach_the_run() -> None:
    scene = Scene(defaults=Defaults(verbosity=4, deadline=60, gather_facts=False, ansible_args="--diff"))
    scene.objects.create(KEY)
    await scene.reconcile()
    (run,) = scene.executor.runs
    assert (run.verbosity, run.deadline, run.gather_facts, run.ansible_args) == (4, 60, False, "--diff")
    assert run.ident.isdecimal()


async def test_the_watch_and_the_annotations_reach_the_run() -> None:
    scene = Scene(replace(WATCH, rescued_tasks_fail=True))
    scene.objects.create(KEY, annotations={VERBOSITY: "3"})
    await scene.reconcile()
    (run,) = scene.executor.runs
    assert (run.rescued_tasks_fail, run.verbosity, run.console_verbosity) == (True, 3, 3)


async def test_a_failed_run_is_told_and_tried_again(scene: Scene) -> None:
    scene.answer(FAILURE)
    result = await scene.reconcile()
    assert (result.verdict, result.after, result.transient) == (Verdict.FAILED, None, False)
    assert scene.conditions["Failure"]["message"] == "it broke"
    assert scene.states()["Successful"] == ("False", "")


async def test_an_object_that_is_gone_is_forgotten(scene: Scene) -> None:
    scene.objects.delete(KEY)
    assert (await scene.reconcile(Trigger.GONE)).verdict is Verdict.GONE
    assert scene.executor.forgotten == [KEY]
    assert scene.executor.runs == []


async def test_an_object_deleted_during_its_run_is_looked_at_once_more(scene: Scene) -> None:
    async def deleting(_run: Run) -> Outcome:
        scene.objects.delete(KEY)
        return SUCCESS

    scene.answer(deleting)
    assert await scene.reconcile() == Result(Verdict.SUCCEEDED, 0.0, Trigger.GONE, 1)


async def test_an_object_made_anew_during_the_run_gets_no_status_of_the_old_one(scene: Scene) -> None:
    async def replacing(_run: Run) -> Outcome:
        scene.objects.delete(KEY)
        scene.objects.create(KEY)
        return SUCCESS

    scene.answer(replacing)
    await scene.reconcile()
    assert "status" not in scene.stored


@pytest.mark.parametrize("told", ["", "of the one before"])
async def test_an_object_that_the_watch_has_yet_to_tell_of_is_not_run(scene: Scene, told: str) -> None:
    scene.told = told
    assert await scene.reconcile(Trigger.GONE) == Result(Verdict.SKIPPED, 1.0, Trigger.RETRY)
    assert scene.objects.calls == ["get"]


async def test_an_object_made_anew_before_it_is_read_waits_for_the_watch(scene: Scene) -> None:
    scene.told = scene.stored["metadata"]["uid"]
    scene.objects.delete(KEY)
    scene.objects.create(KEY)
    assert (await scene.reconcile(Trigger.DEPENDENT)).verdict is Verdict.SKIPPED
    scene.told = scene.stored["metadata"]["uid"]
    assert (await scene.reconcile()).verdict is Verdict.SUCCEEDED


async def test_what_the_role_wrote_into_the_status_stays(scene: Scene) -> None:
    async def writing(_run: Run) -> Outcome:
        ready = {"type": "Ready", "status": "True", "reason": "Up", "seenBy": "role"}
        scene.objects.edit(KEY, lambda body: body["status"].update(pods=["a"]))
        scene.objects.edit(KEY, lambda body: body["status"]["conditions"].append(ready))
        return SUCCESS

    scene.answer(writing)
    await scene.reconcile()
    assert scene.stored["status"]["pods"] == ["a"]
    assert scene.conditions["Ready"]["seenBy"] == "role"
    assert scene.states() == SUCCEEDED | {"Ready": ("True", "Up")}


async def test_a_change_during_the_run_is_not_reported_as_reconciled(scene: Scene) -> None:
    async def editing(_run: Run) -> Outcome:
        scene.objects.edit(KEY, lambda body: body["spec"].update(size=2))
        return SUCCESS

    scene.answer(editing)
    await scene.reconcile()
    assert scene.stored["metadata"]["generation"] == 2
    assert scene.conditions["Successful"]["observedGeneration"] == 1


async def test_a_conflict_before_the_run_plans_anew(scene: Scene) -> None:
    async def interfere(call: str, _key: ObjectKey) -> None:
        if call == "replace_status":
            scene.objects.before = None
            scene.objects.edit(KEY, lambda body: body["spec"].update(size=2))

    scene.objects.before = interfere
    await scene.reconcile()
    (run,) = scene.executor.runs
    assert run.extra_vars[OBJECT]["spec"] == {"size": 2}
    assert scene.conditions["Successful"]["observedGeneration"] == 2


async def test_endless_conflicts_end_in_a_retry_without_a_run(scene: Scene) -> None:
    async def interfere(call: str, _key: ObjectKey) -> None:
        if call == "replace_status":
            scene.objects.edit(KEY, lambda body: body["spec"].update(size=2))

    scene.objects.before = interfere
    result = await scene.reconcile()
    assert (result.verdict, result.transient) == (Verdict.FAILED, True)
    assert scene.executor.runs == []


async def test_requeue_after_writes_no_result_and_replaces_the_period(scene: Scene) -> None:
    scene.answer(replace(SUCCESS, requeue_after=30))
    assert await scene.reconcile() == Result(Verdict.REQUEUED, 30, Trigger.REQUEUED, 1)
    assert scene.states() == {"Running": ("True", "Running")}


async def test_a_run_after_a_requeue_need_not_say_again_that_it_is_running(scene: Scene) -> None:
    scene.answer(replace(SUCCESS, requeue_after=30))
    await scene.reconcile()
    scene.objects.calls.clear()
    await scene.reconcile(Trigger.REQUEUED)
    assert scene.objects.calls == ["get"]


async def test_requeue_after_nothing_is_an_ordinary_success(scene: Scene) -> None:
    scene.answer(replace(SUCCESS, requeue_after=0))
    assert (await scene.reconcile()).verdict is Verdict.SUCCEEDED


async def test_a_failed_run_that_asked_to_be_requeued_fails_and_comes_when_it_asked(scene: Scene) -> None:
    scene.answer(replace(FAILURE, requeue_after=30))
    assert await scene.reconcile() == Result(Verdict.FAILED, 30, Trigger.REQUEUED, 1)
    assert scene.states()["Failure"] == ("True", "Failed")


async def test_the_finalizer_is_added_before_the_first_run(mortal: Scene) -> None:
    await mortal.reconcile()
    assert mortal.stored["metadata"]["finalizers"] == [FINALIZER]
    (run,) = mortal.executor.runs
    assert run.extra_vars[OBJECT]["metadata"]["finalizers"] == [FINALIZER]
    assert (run.content, run.extra_vars.get("finalizing")) == (WATCH.content, None)


async def test_a_deletion_runs_the_finalizer_and_lets_the_object_go(mortal: Scene) -> None:
    await mortal.reconcile()
    mortal.objects.delete(KEY)
    result = await mortal.reconcile(Trigger.DELETING)
    assert KEY not in mortal.objects.stored
    assert (result.verdict, result.trigger) == (Verdict.SUCCEEDED, Trigger.GONE)
    assert mortal.executor.runs[-1].content == GOODBYE
    assert mortal.executor.runs[-1].extra_vars["finalizing"] is True


async def test_a_finalizer_of_somebody_else_stays(mortal: Scene) -> None:
    mortal.objects.edit(KEY, lambda body: body["metadata"].update(finalizers=["other", FINALIZER]))
    mortal.objects.delete(KEY)
    result = await mortal.reconcile(Trigger.DELETING)
    assert mortal.stored["metadata"]["finalizers"] == ["other"]
    assert mortal.states() == SUCCEEDED
    assert (result.verdict, result.after) == (Verdict.SUCCEEDED, None)


async def test_a_terminated_object_is_neither_run_nor_given_the_finalizer_again(mortal: Scene) -> None:
    mortal.objects.edit(KEY, lambda body: body["metadata"].update(finalizers=["other"]))
    mortal.objects.delete(KEY)
    before = mortal.objects.writes
    assert (await mortal.reconcile()).verdict is Verdict.SKIPPED
    assert (mortal.executor.runs, mortal.objects.writes) == ([], before)


async def test_a_failed_deletion_run_keeps_the_finalizer(mortal: Scene) -> None:
    await mortal.reconcile()
    mortal.objects.delete(KEY)
    mortal.answer(FAILURE)
    assert (await mortal.reconcile(Trigger.DELETING)).verdict is Verdict.FAILED
    assert mortal.stored["metadata"]["finalizers"] == [FINALIZER]


async def test_a_conflict_while_removing_the_finalizer_is_overcome(mortal: Scene) -> None:
    await mortal.reconcile()
    mortal.objects.delete(KEY)

    async def editing(_run: Run) -> Outcome:
        mortal.objects.edit(KEY, lambda body: body["metadata"].update(labels={"by": "role"}))
        return SUCCESS

    mortal.answer(editing)
    await mortal.reconcile(Trigger.DELETING)
    assert KEY not in mortal.objects.stored


async def test_a_requeue_in_a_deletion_run_keeps_the_finalizer(mortal: Scene) -> None:
    await mortal.reconcile()
    mortal.objects.delete(KEY)
    mortal.answer(replace(SUCCESS, requeue_after=5))
    assert (await mortal.reconcile(Trigger.DELETING)).verdict is Verdict.REQUEUED
    assert mortal.stored["metadata"]["finalizers"] == [FINALIZER]


async def test_a_deletion_during_an_ordinary_run_is_served_next(mortal: Scene) -> None:
    async def deleting(_run: Run) -> Outcome:
        mortal.objects.delete(KEY)
        return SUCCESS

    mortal.answer(deleting)
    assert await mortal.reconcile() == Result(Verdict.SUCCEEDED, 0.0, Trigger.DELETING, 1)
    assert mortal.stored["metadata"]["finalizers"] == [FINALIZER]


async def test_failing_and_recovering_is_announced_once_each(scene: Scene) -> None:
    scene.answer(FAILURE)
    for _ in range(3):
        await scene.reconcile()
    scene.answer(SUCCESS)
    for _ in range(2):
        await scene.reconcile()
    assert scene.reasons() == ["ReconcileFailed", "Recovered"]


async def test_a_new_reason_to_fail_is_announced(scene: Scene) -> None:
    for message in ("one", "two", "two"):
        scene.answer(replace(FAILURE, messages=(message,)))
        await scene.reconcile()
    assert [message for _, _, message in scene.recorder.events] == ["one", "two"]


async def test_a_restart_does_not_announce_a_known_failure_again(scene: Scene) -> None:
    scene.answer(FAILURE)
    await scene.reconcile()
    later = Scene()
    later.objects, later.executor = scene.objects, scene.executor
    later.reconciler = later.made()
    await later.reconcile()
    assert later.reasons() == []
    scene.answer(SUCCESS)
    await later.reconcile()
    assert later.reasons() == ["Recovered"]


async def test_without_a_managed_status_failures_are_announced_all_the_same() -> None:
    scene = Scene(replace(WATCH, manage_status=False))
    scene.objects.create(KEY)
    for answer in (FAILURE, FAILURE, SUCCESS):
        scene.answer(answer)
        await scene.reconcile()
    assert scene.reasons() == ["ReconcileFailed", "Recovered"]


async def test_without_a_managed_status_nothing_is_ever_written() -> None:
    scene = Scene(replace(WATCH, manage_status=False))
    scene.objects.create(KEY, annotations={PERIOD: "soon"})
    await scene.reconcile()
    scene.objects.edit(KEY, lambda body: body["metadata"].update(annotations={}))
    for answer in (FAILURE, SUCCESS):
        scene.answer(answer)
        await scene.reconcile()
    assert scene.objects.writes == 0
    assert len(scene.executor.runs) == 2


async def test_a_kind_without_status_runs_and_is_warned_about_once(scene: Scene) -> None:
    scene.objects.without_status.add(APPLE)
    with capture_logs() as logs:
        for _ in range(2):
            assert (await scene.reconcile()).verdict is Verdict.SUCCEEDED
    assert [entry["log_level"] for entry in logs if "no status subresource" in entry["event"]] == ["warning"]
    assert scene.objects.writes == 0


async def test_a_bad_period_annotation_stops_the_object_and_says_so_once(scene: Scene) -> None:
    scene.objects.edit(KEY, lambda body: body["metadata"].update(annotations={PERIOD: "1d"}))
    for _ in range(3):
        assert (await scene.reconcile()).verdict is Verdict.FAILED
    assert scene.conditions["Failure"]["message"].startswith("Unable to parse reconcile period annotation: time:")
    assert (scene.executor.runs, scene.objects.writes, scene.reasons()) == ([], 1, ["InvalidSpec"])


async def test_a_schema_that_prunes_the_status_causes_no_repeated_writes(scene: Scene) -> None:
    scene.objects.prune = lambda _status: {}
    scene.objects.edit(KEY, lambda body: body.update(status={}))
    scene.objects.edit(KEY, lambda body: body["metadata"].update(annotations={PERIOD: "1d"}))
    for _ in range(3):
        await scene.reconcile()
    assert scene.objects.calls.count("replace_status") == 1


async def test_a_run_that_cannot_start_is_a_failure(scene: Scene) -> None:
    async def broken(_run: Run) -> Outcome:
        raise RunError("no such inventory: /none")

    scene.answer(broken)
    assert (await scene.reconcile()).verdict is Verdict.FAILED
    assert scene.conditions["Failure"]["message"] == "Unable to run reconciliation: no such inventory: /none"
    assert scene.open_grants == 0


async def test_warnings_about_variables_are_announced_once(scene: Scene) -> None:
    scene.objects.edit(KEY, lambda body: body["spec"].update(fooBar=1, foo_bar=2))
    for _ in range(2):
        await scene.reconcile()
    ((kind, reason, message),) = scene.recorder.events
    assert (kind, reason) == ("Warning", "InvalidSpec")
    assert '"fooBar" and "foo_bar"' in message


async def test_status_fields_come_from_the_run() -> None:
    scene = Scene(replace(WATCH, status={"podNames": "data.pods", "bad": "data.["}))
    scene.objects.create(KEY)
    scene.answer(replace(SUCCESS, data={"pods": ["a"]}))
    assert (await scene.reconcile()).verdict is Verdict.SUCCEEDED
    assert scene.stored["status"]["podNames"] == ["a"]


async def hang(_run: Run) -> Outcome:
    return await asyncio.Future()


async def test_a_cancelled_run_leaves_a_status_that_says_so(scene: Scene) -> None:
    scene.answer(hang)
    task = asyncio.create_task(scene.reconcile())
    await until(lambda: bool(scene.executor.runs))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scene.states()["Running"] == ("False", "Interrupted")
    assert [verdict for _, _, verdict in scene.finished] == [Verdict.CANCELLED]
    assert scene.open_grants == 0


async def test_a_result_is_written_though_the_reconcile_is_cancelled_meanwhile(scene: Scene) -> None:
    blocked = asyncio.Event()

    async def block(call: str, _key: ObjectKey) -> None:
        if call == "replace_status" and scene.executor.runs:
            scene.objects.before = None
            blocked.set()
            await asyncio.Future()

    scene.objects.before = block
    task = asyncio.create_task(scene.reconcile())
    await asyncio.wait_for(blocked.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scene.states() == SUCCEEDED


async def test_running_is_taken_back_when_cancelled_while_it_is_written(scene: Scene) -> None:
    blocked = asyncio.Event()

    async def block(call: str, _key: ObjectKey) -> None:
        if call == "has_status":
            return
        if call == "get" and "status" in scene.stored:
            return
        if call == "replace_status":
            scene.objects.before = None
            running = {"type": "Running", "status": "True", "reason": "Running", "message": ""}
            scene.objects.edit(KEY, lambda body: body.update(status={"conditions": [running]}))
            blocked.set()
            await asyncio.Future()

    scene.objects.before = block
    task = asyncio.create_task(scene.reconcile())
    await asyncio.wait_for(blocked.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scene.states()["Running"] == ("False", "Interrupted")
    assert scene.executor.runs == []


async def test_a_transient_error_is_tried_again_soon(scene: Scene) -> None:
    async def storm(_call: str, _key: ObjectKey) -> None:
        raise UnreachableError("connection refused")

    scene.objects.before = storm
    assert await scene.reconcile() == Result(Verdict.FAILED, transient=True)


def storm_after_the_run(scene: Scene, requests: int) -> None:
    left = requests

    async def storm(_call: str, _key: ObjectKey) -> None:
        nonlocal left
        if scene.executor.runs and left:
            left -= 1
            raise ApiError(503, "ServiceUnavailable", "the apiserver is shutting down")

    scene.objects.before = storm


async def test_a_result_outlasts_a_short_outage_without_another_run(scene: Scene) -> None:
    storm_after_the_run(scene, 3)
    assert (await scene.reconcile()).verdict is Verdict.SUCCEEDED
    assert scene.states() == SUCCEEDED
    assert scene.slept == [0.2, 0.4, 0.8]


async def test_a_long_outage_ends_in_another_run(scene: Scene) -> None:
    storm_after_the_run(scene, 100)
    result = await scene.reconcile()
    assert (result.verdict, result.transient, result.generation) == (Verdict.FAILED, True, 1)


MAPPING = replace(WATCH, status={"good": "'fine'", "size": "'bad'"})
"""A watch that maps two fields, of which `refusing` has the API server refuse one."""


def refusing(scene: Scene, error: ApiError, *, field: str = "size") -> None:
    """The API server takes no status with that field; with "conditions" it takes none that a run came to."""

    def schema(status: Json) -> Json:
        if field in status and scene.executor.runs:
            raise error
        return status

    scene.objects.prune = schema


@pytest.fixture
def mapping() -> Scene:
    scene = Scene(MAPPING)
    scene.objects.create(KEY)
    return scene


NAMED = InvalidError(422, "Invalid", "status.size: must be an integer", fields=("status.size",))
UNNAMED = ApiError(413, "RequestEntityTooLarge", "limit is 3145728")


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (NAMED, {"good": "fine"}),
        (InvalidError(422, "Invalid", "no", fields=("status.size[0].name",)), {"good": "fine"}),
        (InvalidError(422, "Invalid", "no", fields=("status.other",)), {}),
        (InvalidError(422, "Invalid", "no", fields=("<nil>", "")), {}),
        (UNNAMED, {}),
    ],
    ids=["named", "within it", "another", "nothing", "too large"],
)
async def test_a_refused_result_is_a_failure_without_the_fields_that_were_refused(
    mapping: Scene, error: ApiError, kept: Json
) -> None:
    refusing(mapping, error)
    result = await mapping.reconcile()
    assert (result.verdict, result.after, result.transient) == (Verdict.FAILED, None, False)
    assert mapping.states() == {
        "Running": ("False", "Running"),
        "Successful": ("False", ""),
        "Failure": ("True", "Failed"),
    }
    assert mapping.conditions["Failure"]["message"].endswith(str(error))
    assert {name: value for name, value in mapping.stored["status"].items() if name != "conditions"} == kept


async def test_a_refused_result_is_announced_and_not_insisted_on(mapping: Scene) -> None:
    refusing(mapping, NAMED)
    for _ in range(2):
        await mapping.reconcile()
    assert (mapping.reasons(), mapping.slept) == (["ReconcileFailed"], [])


async def test_a_failed_run_whose_fields_are_refused_says_both(mapping: Scene) -> None:
    mapping.answer(FAILURE)
    refusing(mapping, NAMED)
    await mapping.reconcile()
    assert mapping.conditions["Failure"]["message"].splitlines()[0] == "it broke"
    assert "must be an integer" in mapping.conditions["Failure"]["message"]


async def test_a_long_failure_leaves_room_for_the_refusal(mapping: Scene) -> None:
    mapping.answer(replace(FAILURE, messages=("x" * 100_000,)))
    refusing(mapping, NAMED)
    await mapping.reconcile()
    message = mapping.conditions["Failure"]["message"]
    assert len(message) == 1024
    assert message.endswith(str(NAMED))


@pytest.mark.parametrize(
    ("watch", "defaults", "message"),
    [
        (WATCH, Defaults(), "it is broken (Mend it)"),
        (WATCH, Defaults(go_messages=True), "it broke"),
        (replace(WATCH, go_messages=True), Defaults(), "it broke"),
    ],
    ids=["by default", "flag", "watch"],
)
async def test_flag_and_watch_bring_the_go_operators_texts_back(
    watch: Watch, defaults: Defaults, message: str
) -> None:
    scene = Scene(watch, defaults)
    scene.objects.create(KEY)
    failure = Failure("localhost", "it broke", cause="it is broken", task="Mend it")
    scene.answer(replace(FAILURE, failures=(failure,)))
    await scene.reconcile()
    assert scene.conditions["Failure"]["message"] == message
    assert [text for _, _, text in scene.recorder.events] == [message]


async def test_where_no_status_is_taken_at_all_an_event_says_so(mapping: Scene) -> None:
    refusing(mapping, NAMED, field="conditions")
    result = await mapping.reconcile()
    assert (result.verdict, result.transient) == (Verdict.FAILED, False)
    assert mapping.reasons() == ["ReconcileFailed"]


async def test_a_status_that_is_refused_before_the_run_runs_nothing(scene: Scene) -> None:
    def schema(status: Json) -> Json:
        if status["conditions"][0]["type"] == "Running":
            raise NAMED
        return status

    scene.objects.prune = schema
    result = await scene.reconcile()
    assert (result.verdict, result.transient, scene.executor.runs) == (Verdict.FAILED, False, [])
    assert scene.states() == {"Failure": ("True", "Failed")}


@pytest.mark.parametrize("status", [400, 403, 413, 422])
async def test_a_finalizer_that_may_not_be_removed_is_a_failure(mortal: Scene, status: int) -> None:
    async def refuse(call: str, _key: ObjectKey) -> None:
        if call == "replace" and mortal.executor.runs:
            raise ApiError(status, "", "spec.size: must be an integer")

    await mortal.reconcile()
    mortal.objects.delete(KEY)
    mortal.objects.before = refuse
    result = await mortal.reconcile(Trigger.DELETING)
    assert (result.verdict, result.transient) == (Verdict.FAILED, False)
    assert "spec.size: must be an integer" in mortal.conditions["Failure"]["message"]
    assert mortal.stored["metadata"]["finalizers"] == [FINALIZER]


async def test_status_and_event_of_a_forbidden_write_do_not_name_the_operators_account(mortal: Scene) -> None:
    account = "system:serviceaccount:ops:operator"

    async def refuse(call: str, _key: ObjectKey) -> None:
        if call == "replace" and mortal.executor.runs:
            raise ForbiddenError(403, "Forbidden", f'User "{account}" cannot update resource "things"')

    await mortal.reconcile()
    mortal.objects.delete(KEY)
    mortal.objects.before = refuse
    await mortal.reconcile(Trigger.DELETING)
    assert 'the operator may not update resource "things"' in mortal.conditions["Failure"]["message"]
    assert account not in repr((mortal.stored, mortal.recorder.events))


async def test_an_object_that_may_not_be_read_is_tried_again_soon(scene: Scene) -> None:
    async def forbid(_call: str, _key: ObjectKey) -> None:
        raise ForbiddenError(403, "Forbidden", "things is forbidden")

    scene.objects.before = forbid
    assert await scene.reconcile() == Result(Verdict.FAILED, transient=True)


async def test_a_refused_result_is_written_though_the_reconcile_is_cancelled(mapping: Scene) -> None:
    refusing(mapping, NAMED)
    written = asyncio.Event()

    async def block(call: str, _key: ObjectKey) -> None:
        if call == "replace_status" and mapping.executor.runs and not written.is_set():
            written.set()
            await asyncio.Event().wait()

    mapping.objects.before = block
    task = asyncio.create_task(mapping.reconcile())
    await written.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert mapping.states()["Failure"] == ("True", "Failed")


async def test_an_object_that_is_gone_when_its_run_was_cancelled_is_forgotten(scene: Scene) -> None:
    async def deleting(_run: Run) -> Outcome:
        scene.objects.delete(KEY)
        return replace(SUCCESS, ending=Ending.CANCELLED)

    scene.answer(deleting)
    assert await scene.reconcile() == Result(Verdict.GONE)


async def test_a_kind_that_is_gone_takes_its_objects_with_it(scene: Scene) -> None:
    async def absent(_call: str, _key: ObjectKey) -> None:
        raise KindAbsentError("the API server does not serve this kind")

    scene.objects.before = absent
    assert await scene.reconcile() == Result(Verdict.GONE)
    assert scene.executor.forgotten == [KEY]


async def test_a_key_that_can_have_no_run_directory_is_forgotten_all_the_same(scene: Scene) -> None:
    async def no_directory(_key: ObjectKey) -> None:
        raise RunError("cannot be the name of a directory")

    scene.executor.forget = no_directory  # type: ignore[assignment,method-assign]
    scene.objects.delete(KEY)
    assert await scene.reconcile() == Result(Verdict.GONE)


async def lose_status(scene: Scene) -> None:
    """The kind's status subresource is removed, but nobody has noticed."""
    scene.objects.without_status.add(APPLE)
    scene.objects.believed.add(APPLE)


async def test_a_status_subresource_that_is_gone_before_a_run_does_not_hold_it_up(scene: Scene) -> None:
    await lose_status(scene)
    assert (await scene.reconcile()).verdict is Verdict.SUCCEEDED
    assert len(scene.executor.runs) == 1


async def test_a_status_subresource_that_goes_during_a_run_is_no_deletion(scene: Scene) -> None:
    async def losing(_run: Run) -> Outcome:
        await lose_status(scene)
        return SUCCESS

    scene.answer(losing)
    assert await scene.reconcile() == Result(Verdict.SUCCEEDED, 36000, Trigger.PERIOD, 1)
    assert scene.executor.forgotten == []


def nest(scene: Scene, *fields: str) -> None:
    """The object cannot be read as a whole any more."""

    async def nested(call: str, _key: ObjectKey) -> None:
        if call == "get":
            body = {name: value for name, value in scene.stored.items() if name not in fields}
            raise NestedError(200, body, fields)

    scene.objects.before = nested


async def test_an_object_that_is_nested_too_deeply_fails_and_says_so(scene: Scene) -> None:
    nest(scene, "spec")
    result = await scene.reconcile()
    assert (result.verdict, result.transient, scene.executor.runs) == (Verdict.FAILED, False, [])
    assert scene.conditions["Failure"]["message"] == "spec is nested deeper than 200 levels: make it flatter"
    assert scene.reasons() == ["InvalidSpec"]


async def test_a_status_that_is_nested_too_deeply_is_never_written_over(scene: Scene) -> None:
    scene.objects.edit(KEY, lambda body: body.update(status={"deep": {}}))
    nest(scene, "status")
    await scene.reconcile()
    assert (scene.stored["status"], scene.reasons()) == ({"deep": {}}, ["InvalidSpec"])


async def test_an_object_that_is_nested_too_deeply_but_not_selected_is_left_alone() -> None:
    scene = Scene(replace(WATCH, selector=Selector((Requirement("tree", "Exists"),))))
    scene.objects.create(KEY)
    nest(scene, "spec")
    assert (await scene.reconcile()).verdict is Verdict.SKIPPED
    assert "status" not in scene.stored


async def test_a_spec_that_became_too_deep_during_the_run_does_not_cost_its_result(scene: Scene) -> None:
    async def deepening(_run: Run) -> Outcome:
        scene.objects.edit(KEY, lambda body: body["spec"].update(size=2))
        nest(scene, "spec")
        return SUCCESS

    scene.answer(deepening)
    assert (await scene.reconcile()).verdict is Verdict.SUCCEEDED
    assert scene.states() == SUCCEEDED
    assert scene.stored["spec"] == {"size": 2}


async def test_a_finalizer_is_not_removed_from_what_cannot_be_read_as_a_whole(mortal: Scene) -> None:
    await mortal.reconcile()
    mortal.objects.delete(KEY)

    async def deepening(_run: Run) -> Outcome:
        mortal.objects.edit(KEY, lambda body: body["spec"].update(size=2))
        nest(mortal, "spec")
        return SUCCESS

    mortal.answer(deepening)
    assert (await mortal.reconcile(Trigger.DELETING)).verdict is Verdict.FAILED
    assert (mortal.stored["metadata"]["finalizers"], mortal.stored["spec"]) == ([FINALIZER], {"size": 2})


async def test_an_unexpected_exception_is_logged_with_the_key_and_retried(scene: Scene) -> None:
    async def broken(_run: Run) -> Outcome:
        raise ZeroDivisionError

    scene.answer(broken)
    with capture_logs() as logs:
        assert (await scene.reconcile()).verdict is Verdict.FAILED
    assert any(entry["log_level"] == "error" and entry["key"] == "Apple orchard/a" for entry in logs)


async def test_extra_vars_appear_in_no_log(scene: Scene) -> None:
    scene.objects.edit(KEY, lambda body: body["spec"].update(password=SECRET))
    with capture_logs() as logs:
        for answer in (SUCCESS, FAILURE):
            scene.answer(answer)
            await scene.reconcile()
    assert SECRET not in repr(logs)


async def test_an_object_that_rests_at_the_start_is_not_run() -> None:
    scene = Scene(defaults=Defaults(reconcile_period=3600, reconcile_at_start=False))
    scene.objects.create(KEY)
    scene.answer(replace(SUCCESS, stats=Stats(ok=1, completion="2026-01-01T11:59:00+00:00")))
    await scene.reconcile()
    assert await scene.reconcile(Trigger.START) == Result(Verdict.SKIPPED, 3540, Trigger.PERIOD)
    assert len(scene.executor.runs) == 1


async def test_an_object_that_is_not_selected_is_left_alone() -> None:
    scene = Scene(replace(WATCH, selector=Selector((Requirement("tree", "Exists"),))))
    scene.objects.create(KEY)
    assert await scene.reconcile() == Result(Verdict.SKIPPED)
    assert scene.objects.writes == 0


async def test_every_reconcile_is_accounted_for(scene: Scene) -> None:
    await scene.reconcile()
    ((stages, outcome, verdict),) = scene.finished
    expected = replace(SUCCESS, children=({"kind": "Pip"},))
    assert (outcome, verdict, stages.waited) == (expected, Verdict.SUCCEEDED, 1.5)
    assert min(stages.get, stages.prepare, stages.ansible, stages.status) > 0


CHILD = ObjectKey(GroupVersionKind("apps", "v1", "Deployment"), "orchard", "web")
EDITED = Reason(Trigger.DEPENDENT, CHILD, "kubectl-edit", ("spec.replicas",), "2026-01-01T11:59:59Z")


def unwrapped(value: object) -> object:
    """Without the marks of text that Ansible does not render."""
    if isinstance(value, dict):
        marked = value.get("__ansible_unsafe")
        return marked if marked is not None else {key: unwrapped(item) for key, item in value.items()}
    return [unwrapped(item) for item in value] if isinstance(value, list) else value


async def test_a_run_knows_its_reasons_its_attempt_and_how_the_one_before_ended(scene: Scene) -> None:
    scene.answer(FAILURE)
    await scene.reconcile()
    reasons = Reasons((EDITED, Reason(Trigger.RETRY)))
    await scene.reconciler.reconcile(Request(KEY, frozenset({Trigger.RETRY}), 2, reasons))
    told = {
        "reasons": [
            {
                "trigger": "dependent",
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "namespace": "orchard",
                "name": "web",
                "manager": "kubectl-edit",
                "fields": ["spec.replicas"],
                "time": "2026-01-01T11:59:59Z",
            },
            {"trigger": "retry", "time": "2026-01-01T11:59:58Z"},
        ],
        "attempt": 2,
        "previous": "failed",
    }
    run = scene.executor.runs[-1]
    assert unwrapped(run.extra_vars["ansible_operator_run"]) == told
    because = ["Deployment orchard/web changed by kubectl-edit: spec.replicas", "retry"]
    where = {"server": scene.objects.server, "names": ["apples"]}
    assert (run.why, run.generation) == ({**told, "because": because, **where}, 1)


async def test_another_generation_counts_its_own_attempts(scene: Scene) -> None:
    await scene.reconcile()
    scene.objects.edit(KEY, lambda body: body["spec"].update(size=2))
    await scene.reconcile(Trigger.CHANGED)
    assert [(run.why["attempt"], run.why["previous"]) for run in scene.executor.runs] == [
        (1, ""),
        (1, "succeeded"),
    ]


async def test_an_event_tells_of_the_dependent_that_caused_a_run_and_of_nothing_else(scene: Scene) -> None:
    await scene.reconciler.reconcile(Request(KEY, frozenset({Trigger.DEPENDENT}), 0, Reasons((EDITED,))))
    await scene.reconciler.reconcile(Request(KEY, frozenset({Trigger.PERIOD}), 0, Reasons.of(Trigger.PERIOD)))
    assert scene.recorder.events == [
        ("Normal", "DependentChanged", "Deployment orchard/web changed by kubectl-edit: spec.replicas")
    ]


async def test_a_check_run_has_reasons_but_is_no_attempt_and_announces_no_cause(scene: Scene) -> None:
    scene.objects.edit(KEY, lambda body: body["metadata"].update(annotations={MODE: "check"}))
    request = Request(KEY, frozenset({Trigger.DEPENDENT}), 0, Reasons((EDITED,)))
    assert (await scene.reconciler.reconcile(request)).verdict is Verdict.CHECKED
    scene.objects.edit(KEY, lambda body: body["metadata"].update(annotations={}))
    await scene.reconcile(Trigger.ANNOTATED)
    check, run = scene.executor.runs
    assert [reason["trigger"] for reason in check.why["reasons"]] == ["dependent"]
    assert [(each.why["attempt"], each.why["previous"]) for each in (check, run)] == [(0, ""), (1, "")]
    assert scene.recorder.events == []


@pytest.mark.parametrize("deleted", [False, True])
async def test_of_a_paused_object_only_the_condition_is_written(mortal: Scene, deleted: bool) -> None:
    mortal.objects.edit(KEY, lambda body: body["metadata"].update(annotations={PAUSED: "true"}))
    if deleted:
        mortal.objects.edit(KEY, lambda body: body["metadata"].update(finalizers=[FINALIZER]))
        mortal.objects.delete(KEY)
    before = mortal.objects.writes
    assert await mortal.reconcile() == Result(Verdict.SKIPPED, None, Trigger.ANNOTATED, 1)
    await mortal.reconcile(Trigger.PERIOD)
    assert (mortal.objects.writes - before, mortal.executor.runs) == (1, [])
    assert mortal.states() == {"Paused": ("True", "Paused")}
    assert mortal.recorder.events == []


async def test_a_pause_that_nobody_can_read_is_warned_of_once(scene: Scene) -> None:
    scene.objects.edit(KEY, lambda body: body["metadata"].update(annotations={PAUSED: "soon"}))
    await scene.reconcile()
    await scene.reconcile()
    ((kind, reason, message),) = scene.recorder.events
    assert (kind, reason, "'soon'" in message) == ("Warning", "InvalidSpec", True)


async def test_a_pause_with_a_moment_comes_back_then_and_runs(scene: Scene) -> None:
    scene.objects.edit(KEY, lambda body: body["metadata"].update(annotations={PAUSED: "2026-01-01T12:00:30Z"}))
    assert (await scene.reconcile()).after == 30
    scene.now += timedelta(seconds=30)
    assert (await scene.reconcile(Trigger.ANNOTATED)).verdict is Verdict.SUCCEEDED
    assert scene.states() == {**SUCCEEDED, "Paused": ("False", "Resumed")}
