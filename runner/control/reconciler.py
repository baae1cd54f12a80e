"""The life cycle of a custom resource: read it live, decide, run, write what came of it, say what follows."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, assert_never

import structlog

from runner.control import status
from runner.control.announcer import FAILED, INVALID, Announcer
from runner.control.conditions import Moment
from runner.control.entry import Entry, Trigger
from runner.control.fields import mapped
from runner.control.plan import AddFinalizer, Defaults, Occasion, Perform, Plan, Refuse, Skip, plan
from runner.control.ports import Access, EventRecorder, Json, Objects, Variables
from runner.control.result import Result, Stages, Stopwatch, Verdict
from runner.control.writer import TRIES, Writer
from runner.errors import ConflictError, KubeError, NotFoundError, OperatorError, RunError
from runner.execute.run import Ending, Executor, Outcome, Run, Sink
from runner.objects import Body, GroupVersionKind, ObjectKey, Owner
from runner.watches import Watch

LAST_WORDS = 5.0
"""Seconds that a cancelled reconcile gets to write its final status."""

OnFinished = Callable[[ObjectKey, Watch, Stages, Outcome | None, Verdict], None]
"""Told of every reconcile that ended; the outcome is None where nothing was run."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class World:
    """All that a reconciler acts on. `now` is the wall clock, `seconds` the one that times the stages."""

    objects: Objects
    executor: Executor
    recorder: EventRecorder
    access: Access
    extra_vars: Variables
    sink: Sink
    on_finished: OnFinished
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    seconds: Callable[[], float] = time.monotonic
    randomness: Callable[[], float] = random.random


@dataclass(slots=True)
class _Attempt:
    """What one reconcile has learned so far."""

    entry: Entry
    watch: Watch
    stopwatch: Stopwatch
    generation: int = 0
    outcome: Outcome | None = None

    @property
    def key(self) -> ObjectKey:
        return self.entry.key


class Reconciler:
    """Reconciles one key at a time, as often as asked; keys are independent, so many run side by side."""

    def __init__(
        self,
        world: World,
        watches: Mapping[GroupVersionKind, Watch],
        defaults: Callable[[GroupVersionKind], Defaults] = lambda _gvk: Defaults(),
    ) -> None:
        self._world = world
        self._watches = watches
        self._defaults = defaults
        self._writer = Writer(world.objects)
        self._announcer = Announcer(world.recorder)

    async def reconcile(self, entry: Entry) -> Result:
        """Raises nothing but CancelledError, and that only after the final status was written."""
        attempt = _Attempt(entry, self._watches[entry.key.gvk], Stopwatch(self._world.seconds, entry.waited))
        try:
            result = await self._unless_gone(attempt)
        except asyncio.CancelledError:
            self._report(attempt, Result(Verdict.CANCELLED))
            raise
        except OperatorError as error:
            log.warning("reconcile failed", key=str(entry.key), error=str(error))
            weather = isinstance(error, KubeError)
            result = Result(Verdict.FAILED, generation=attempt.generation, weather=weather)
        except Exception:
            log.exception("reconcile failed unexpectedly", key=str(entry.key))
            result = Result(Verdict.FAILED, generation=attempt.generation)
        self._report(attempt, result)
        return result

    async def _unless_gone(self, attempt: _Attempt) -> Result:
        try:
            return await self._reconcile(attempt)
        except NotFoundError:
            return await self._gone(attempt.key)

    async def _reconcile(self, attempt: _Attempt) -> Result:
        body, step = await self._begin(attempt)
        match step:
            case Skip():
                return Result(Verdict.SKIPPED, step.after)
            case Refuse():
                return await self._refuse(attempt, body, step.message, INVALID)
            case Perform():
                return await self._perform(attempt, body, step)
            case AddFinalizer():
                raise OperatorError(f"the API server does not keep the finalizer {step.name} of {attempt.key}")
            case _:
                assert_never(step)

    async def _begin(self, attempt: _Attempt) -> tuple[Json, Plan]:
        """The object and the plan for it, Running already written; planned anew after every conflict."""
        for _ in range(TRIES - 1):
            try:
                return await self._begin_once(attempt)
            except ConflictError:
                continue
        return await self._begin_once(attempt)

    async def _begin_once(self, attempt: _Attempt) -> tuple[Json, Plan]:
        body = await self._world.objects.get(attempt.key)
        attempt.stopwatch.lap("get")
        attempt.generation = body["metadata"].get("generation", 0)
        step = self._plan(attempt, body)
        if isinstance(step, AddFinalizer):
            body = await self._writer.add_finalizer(attempt.key, body, step.name)
            step = self._plan(attempt, body)
        attempt.stopwatch.lap("prepare")
        if isinstance(step, Perform):
            moment = self._moment(attempt)
            body = await self._writer.status_once(
                attempt.key, attempt.watch, body, lambda current: status.running(current, moment)
            )
            attempt.stopwatch.lap("status")
        return body, step

    def _plan(self, attempt: _Attempt, body: Body) -> Plan:
        spread = 2 * self._world.randomness() - 1
        occasion = Occasion(self._world.now(), attempt.entry.triggers, spread)
        return plan(body, attempt.watch, self._defaults(attempt.key.gvk), occasion)

    async def _perform(self, attempt: _Attempt, body: Json, step: Perform) -> Result:
        try:
            attempt.outcome = await self._run(attempt, body, step)
        except RunError as error:
            return await self._refuse(attempt, body, f"Unable to run reconciliation: {error}", FAILED)
        except asyncio.CancelledError:
            attempt.outcome = Outcome(Ending.CANCELLED, -1, None)
            await self._last_words(attempt, self._finish(attempt, attempt.outcome, body, step))
            raise
        finally:
            attempt.stopwatch.lap("ansible")
        try:
            return await self._finish(attempt, attempt.outcome, body, step)
        except asyncio.CancelledError:
            await self._last_words(attempt, self._finish(attempt, attempt.outcome, body, step))
            raise
        finally:
            attempt.stopwatch.lap("status")

    async def _run(self, attempt: _Attempt, body: Json, step: Perform) -> Outcome:
        key, uid = attempt.key, _uid(body)
        variables = self._world.extra_vars(body, attempt.watch, finalizing=step.finalizing)
        self._announcer.warned(key, uid, step.warnings + variables.warnings)
        with self._world.access(Owner(key.gvk, key.namespace, key.name, uid)) as kubeconfig:
            run = self._make_run(key, uid, step, variables.values, kubeconfig)
            attempt.stopwatch.lap("prepare")
            return await self._world.executor.run(run, self._world.sink)

    def _make_run(
        self, key: ObjectKey, uid: str, step: Perform, extra_vars: Mapping[str, Any], kubeconfig: str
    ) -> Run:
        defaults = self._defaults(key.gvk)
        return Run(
            ident=str(secrets.randbits(63)),
            key=key,
            uid=uid,
            content=step.content,
            extra_vars=extra_vars,
            kubeconfig=kubeconfig,
            verbosity=step.verbosity,
            max_artifacts=step.max_artifacts,
            deadline=defaults.deadline,
            gather_facts=defaults.gather_facts,
            ansible_args=defaults.ansible_args,
            rescued_tasks_fail=self._watches[key.gvk].rescued_tasks_fail,
        )

    async def _finish(self, attempt: _Attempt, outcome: Outcome, body: Json, step: Perform) -> Result:
        """Write what came of the run. May be repeated: it writes nothing that is there already."""
        if outcome.ending is Ending.CANCELLED:
            moment = self._moment(attempt)
            await self._write(attempt, body, lambda current: status.interrupted(current, moment))
            return Result(Verdict.CANCELLED, generation=attempt.generation)
        failure = status.failure_message(outcome)
        if failure is not None:
            return await self._failed(attempt, outcome, body, failure)
        if outcome.requeue_after is not None and outcome.requeue_after > 0:
            return Result(Verdict.REQUEUED, outcome.requeue_after, Trigger.REQUEUED, attempt.generation)
        return await self._succeeded(attempt, outcome, body, step)

    async def _failed(self, attempt: _Attempt, outcome: Outcome, body: Json, message: str) -> Result:
        fields = self._fields(attempt, outcome, body)
        moment = self._moment(attempt)
        await self._write(
            attempt, body, lambda current: status.failed(current, moment, message, outcome.stats, fields)
        )
        self._announcer.failed(attempt.key, _uid(body), message, status.failing_with(body))
        # A role that asks to be called again says when, also where it fails: it may be polling.
        again = outcome.requeue_after if outcome.requeue_after and outcome.requeue_after > 0 else None
        return Result(Verdict.FAILED, again, Trigger.REQUEUED, attempt.generation)

    async def _succeeded(self, attempt: _Attempt, outcome: Outcome, body: Json, step: Perform) -> Result:
        self._announcer.recovered(attempt.key, _uid(body), status.failing_with(body))
        current: Json | None = body
        if step.finalizer is not None:
            current = await self._writer.remove_finalizer(attempt.key, body, step.finalizer)
        if current is not None:
            fields = self._fields(attempt, outcome, body)
            moment = self._moment(attempt)
            current = await self._write(
                attempt, current, lambda read: status.succeeded(read, moment, outcome.stats, fields)
            )
        if current is None:
            return await self._gone(attempt.key) if step.finalizer is None else Result(Verdict.SUCCEEDED)
        if current["metadata"].get("deletionTimestamp") and not step.finalizing:
            return Result(Verdict.SUCCEEDED, 0.0, Trigger.DELETING, attempt.generation)
        return Result(Verdict.SUCCEEDED, step.period, Trigger.PERIOD, attempt.generation)

    async def _refuse(self, attempt: _Attempt, body: Json, message: str, reason: str) -> Result:
        log.warning("nothing was run", key=str(attempt.key), error=message)
        moment = self._moment(attempt)
        await self._write(attempt, body, lambda current: status.refused(current, moment, message))
        self._announcer.failed(attempt.key, _uid(body), message, status.failing_with(body), reason)
        return Result(Verdict.FAILED, generation=attempt.generation)

    async def _gone(self, key: ObjectKey) -> Result:
        self._writer.forget(key)
        self._announcer.forget(key)
        await self._world.executor.forget(key)
        return Result(Verdict.GONE)

    def _fields(self, attempt: _Attempt, outcome: Outcome, body: Body) -> tuple[tuple[str, Any], ...]:
        fields, warnings = mapped(attempt.watch.status, outcome)
        for warning in warnings:
            log.warning("status field left alone", key=str(attempt.key), error=warning, uid=_uid(body))
        return fields

    async def _write(self, attempt: _Attempt, body: Json, decide: Callable[[Body], Json]) -> Json | None:
        return await self._writer.status(attempt.key, attempt.watch, body, decide)

    def _moment(self, attempt: _Attempt) -> Moment:
        return Moment(self._world.now(), attempt.generation)

    async def _last_words(self, attempt: _Attempt, finish: Awaitable[Result]) -> None:
        try:
            async with asyncio.timeout(LAST_WORDS):
                await finish
        except Exception:
            log.exception("the final status could not be written", key=str(attempt.key))

    def _report(self, attempt: _Attempt, result: Result) -> None:
        stages = attempt.stopwatch.stages()
        try:
            self._world.on_finished(attempt.key, attempt.watch, stages, attempt.outcome, result.verdict)
        except Exception:
            log.exception("a reconcile could not be reported", key=str(attempt.key))


def _uid(body: Body) -> str:
    return str(body["metadata"].get("uid", ""))
