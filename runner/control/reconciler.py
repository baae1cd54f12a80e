"""The life cycle of a custom resource: read it live, decide, run, write what came of it, say what follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import assert_never

import structlog

from runner.config.watches import Watch
from runner.control import status
from runner.control.attempt import Attempt, Closing, Listeners, Result, UnderWay, Verdict, make_run
from runner.control.check import Checking, checking, unless_drift
from runner.control.plan import AddFinalizer, Defaults, Occasion, Paused, Perform, Plan, Refuse, Skip, plan
from runner.control.progress import EVERY, Progress
from runner.control.prune import Pruning
from runner.control.publish import INVALID, UNUSABLE, Announcer, Writer, last_words
from runner.control.reasons import Tries, described, previous, told_all
from runner.control.related import RelatedObjects
from runner.control.request import Request
from runner.control.timers import Stopwatch
from runner.errors import (
    ApiError,
    ConflictError,
    KindAbsentError,
    KubeError,
    NestedError,
    NotFoundError,
    OperatorError,
    RunError,
    StaleError,
)
from runner.execute.executor import Executor
from runner.execute.outcome import Ending, Outcome
from runner.execute.variables import extra_vars
from runner.kube.clock import REAL, Clock
from runner.kube.discovery import ObjectsApi
from runner.kube.recorder import Recorder
from runner.objects import Body, GroupVersionKind, Json, ObjectKey, Owner, generation_of, uid_of
from runner.serve.grants import Grant

TRIES = 5
"""How often a reconcile begins anew because somebody else wrote first."""

log = structlog.get_logger(__name__)


class Reconciler:
    """Reconciles one key at a time, as often as asked; keys are independent, so many run side by side.

    `related`, where there is one, is told of every custom resource read, and of what runs have seen of dependents.
    """

    def __init__(
        self,
        watches: Mapping[GroupVersionKind, Watch],
        *,
        objects: ObjectsApi,
        executor: Executor,
        recorder: Recorder,
        grant: Callable[[Owner], AbstractContextManager[Grant]],
        listeners: Listeners,
        defaults: Callable[[GroupVersionKind], Defaults] = lambda _gvk: Defaults(),
        clock: Clock = REAL,
        progress_every: float = EVERY,
        told: Callable[[ObjectKey], str | None] = lambda _key: None,
    ) -> None:
        """Entering what `grant` returns lets a run pass the API proxy; leaving it revokes that.

        `told` gives the UID that the watch has told of last, empty for none; None where nobody watches.
        A run that lasts for longer than `progress_every` seconds says so, and again after as many.
        """
        self.related: RelatedObjects | None = None
        self._watches = watches
        self._objects = objects
        self._executor = executor
        self._grant = grant
        self._listeners = listeners
        self._defaults = defaults
        self._clock = clock
        self._writer = Writer(objects, clock.sleep)
        self._announcer = Announcer(recorder)
        self._checking = Checking(self._writer, self._run)
        self._closing = Closing(objects, self._writer, self._announcer)
        self._pruning = Pruning(objects, self._writer, self._announcer)
        self._tries = Tries()
        self._progress = Progress(objects, self._writer, clock, progress_every)
        self._told = told
        self._runs: dict[ObjectKey, UnderWay] = {}

    def ages(self) -> dict[ObjectKey, float]:
        """For how many seconds each run has been under way."""
        return {key: self._clock.now() - run.began for key, run in self._runs.items()}

    async def reconcile(self, request: Request) -> Result:
        """Raises nothing but CancelledError, and that only after the final status was written."""
        stopwatch = Stopwatch(self._clock.now, request.waited)
        watch = self._watches[request.key.gvk]
        go_messages = watch.go_messages or self._defaults(request.key.gvk).go_messages
        attempt = Attempt(request, watch, stopwatch, self._now, go_messages, self._told(request.key))
        try:
            result = await self._unless_gone(attempt)
        except asyncio.CancelledError:
            self._report(attempt, Result(Verdict.CANCELLED))
            raise
        except OperatorError as error:
            attempt.failure = str(error)
            # Without a run, trying again costs one request, and whoever may mend it need not touch the object.
            transient = isinstance(error, KubeError) and (error.transient or attempt.outcome is None)
            result = Result(Verdict.FAILED, generation=attempt.generation, transient=transient)
        except Exception as error:
            log.exception("reconcile failed unexpectedly", key=str(request.key))
            attempt.failure = f"{type(error).__name__}: {error}"
            result = Result(Verdict.FAILED, generation=attempt.generation)
        result = unless_drift(attempt, result) if result.verdict is Verdict.FAILED else result
        self._report(attempt, result)
        return result

    async def _unless_gone(self, attempt: Attempt) -> Result:
        """A kind that is gone takes its objects with it; the reflector tells of them when it is back."""
        try:
            return await self._unless_refused(attempt)
        except (NotFoundError, KindAbsentError):
            for forget in (self._writer.forget, self._pruning.forget, self._announcer.forget, self._tries.forget):
                forget(attempt.key)
            if self.related is not None:
                self.related.forget(attempt.key)
            await self._forget_files(attempt.key)
            return Result(Verdict.GONE)

    async def _forget_files(self, key: ObjectKey) -> None:
        try:
            await self._executor.forget(key)
        except RunError as error:  # no run can ever have had such a directory
            log.debug("nothing to remove", key=str(key), error=str(error))

    async def _unless_refused(self, attempt: Attempt) -> Result:
        try:
            return await self._reconcile(attempt)
        except NestedError as error:
            attempt.generation = generation_of(error.body)
            step = self._plan(attempt, error.body)
            if isinstance(step, Skip | Paused) or (isinstance(step, Perform) and step.check):
                return _nothing(step)
            return await self._closing.too_deep(attempt, error)
        except ApiError as error:
            if error.transient or isinstance(error, NotFoundError) or attempt.body is None:
                raise
            return await self._closing.unwritten(attempt, attempt.body, error)

    async def _reconcile(self, attempt: Attempt) -> Result:
        body, step = await self._begin(attempt)
        match step:
            case Skip():
                return _nothing(step)
            case Refuse():
                return await self._closing.refuse(attempt, body, step.message, INVALID)
            case Paused():
                return await self._closing.pause(attempt, body, step)
            case Perform(check=True):
                return await self._checking.check(attempt, body, step)
            case Perform():
                return await self._perform(attempt, body, step)
            case AddFinalizer():
                raise OperatorError(f"the API server does not keep the finalizer {step.name} of {attempt.key}")
            case _:
                assert_never(step)

    async def _begin(self, attempt: Attempt) -> tuple[Json, Plan]:
        """The object and the plan for it, Running already written; planned anew after every conflict."""
        for _ in range(TRIES - 1):
            try:
                return await self._begin_once(attempt)
            except (ConflictError, StaleError):
                continue
        return await self._begin_once(attempt)

    async def _begin_once(self, attempt: Attempt) -> tuple[Json, Plan]:
        body = attempt.body = await self._objects.get(attempt.key)
        attempt.stopwatch.lap("get")
        attempt.generation = generation_of(body)
        if self.related is not None and attempt.watch.references:
            warnings = self.related.read(attempt.key, attempt.watch, body)
            self._announcer.warned(attempt.key, uid_of(body), warnings, UNUSABLE)
        step = self._plan(attempt, body)
        if isinstance(step, AddFinalizer):
            body = await self._writer.add_finalizer(attempt.key, body, step.name)
            step = self._plan(attempt, body)
        attempt.stopwatch.lap("prepare")
        if isinstance(step, Perform):
            attempt.previous = previous(body)
        if isinstance(step, Perform) and not step.check:
            body = await self._say_running(attempt, body)
            attempt.stopwatch.lap("status")
        return body, step

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.wall(), UTC)

    def _plan(self, attempt: Attempt, body: Body) -> Plan:
        untold = attempt.told not in (None, uid_of(body))
        occasion = Occasion(self._now(), attempt.request.triggers, self._clock.uniform(-1.0, 1.0), untold=untold)
        step = plan(body, attempt.watch, self._defaults(attempt.key.gvk), occasion)
        log.debug("Decided", key=str(attempt.key), triggers=sorted(attempt.request.triggers), step=step)
        return step

    async def _say_running(self, attempt: Attempt, body: Json) -> Json:
        moment = attempt.moment
        try:
            return await self._writer.status_once(
                attempt.key, attempt.watch, body, lambda current: status.running(current, moment)
            )
        except asyncio.CancelledError:
            await last_words(attempt.key, self._closing.interrupt(attempt))
            raise

    async def _perform(self, attempt: Attempt, body: Json, step: Perform) -> Result:
        attempt.number, attempt.previous = self._tries.begin(attempt.key, attempt.generation, attempt.previous)
        try:
            outcome = await self._run(attempt, body, step)
        except RunError as error:
            return await self._closing.refuse(attempt, body, f"Unable to run reconciliation: {error}")
        except asyncio.CancelledError:
            attempt.outcome = Outcome(Ending.CANCELLED, -1, None)
            await last_words(attempt.key, self._closing.interrupt(attempt))
            raise
        finally:
            attempt.stopwatch.lap("ansible")
        attempt.outcome = outcome
        body = attempt.under_way.body if attempt.under_way else body
        try:
            return await self._closing.finish(attempt, outcome, body, step)
        except asyncio.CancelledError:
            await last_words(attempt.key, self._closing.finish(attempt, outcome, body, step))
            raise
        finally:
            attempt.stopwatch.lap("status")
            if self.related is not None and outcome.children:
                self.related.written(attempt.key)

    async def _run(self, attempt: Attempt, body: Json, step: Perform) -> Outcome:
        key, uid = attempt.key, uid_of(body)
        reasons = described(attempt.request.reasons, self._now() - timedelta(seconds=attempt.request.waited))
        why = {"reasons": reasons, "attempt": attempt.number, "previous": attempt.previous}
        variables = extra_vars(body, attempt.watch, finalizing=step.finalizing, run=why)
        self._announcer.warned(key, uid, step.warnings + variables.warnings)
        with self._grant(Owner(key.gvk, key.namespace, key.name, uid)) as grant:
            run = make_run(attempt, uid, step, variables.values, grant.kubeconfig, self._defaults(key.gvk))
            about = {"because": told_all(attempt.request.reasons), **self._objects.about(key.gvk)}
            attempt.run = replace(checking(run) if step.check else run, why=why | about, calls=grant.calls)
            if step.check:
                grant.only_dry_runs()
            else:
                self._announcer.caused(key, uid, attempt.request.reasons)
                self._listeners.started(attempt)
            attempt.stopwatch.lap("prepare")
            prunes = attempt.watch.prune and not step.finalizing and not step.check and grant.dry_runs is None
            with self._under_way(attempt, body, step) as under_way:
                pruning = await self._pruning.begin(attempt, under_way, grant) if prunes else None
                outcome = await self._executor.run(attempt.run, under_way.note)
            if step.check:  # what it has seen is no news of the object's dependents
                return replace(outcome, differences=grant.differences, uncompared=grant.unread)
            if pruning is not None:
                grant.revoke()
                await self._pruning.end(pruning, outcome, self._defaults(key.gvk).partial)
            if grant.children and self.related is not None:
                return replace(outcome, children=await self.related.seen(key, attempt.watch, grant.children))
            return replace(outcome, children=grant.children)

    @contextmanager
    def _under_way(self, attempt: Attempt, body: Json, step: Perform) -> Iterator[UnderWay]:
        """The run, which tells how far it is until it ends: nothing is written of that any more then."""
        run = attempt.under_way = UnderWay(
            step.content, body, self._now(), self._clock.now(), event=self._listeners.event
        )
        self._runs[attempt.key] = run
        loop = asyncio.get_running_loop()
        run.telling = loop.call_later(self._progress.every, self._progress.tell, attempt, run)
        try:
            yield run
        finally:
            run.ended()
            del self._runs[attempt.key]

    def _report(self, attempt: Attempt, result: Result) -> None:
        if attempt.number and result.verdict is not Verdict.GONE:
            self._tries.ended(attempt.key, attempt.generation, attempt.number, result.verdict)
        try:
            self._listeners.finished(attempt, result)
        except Exception:
            log.exception("a reconcile could not be reported", key=str(attempt.key))


def _nothing(step: Skip | Paused | Perform) -> Result:
    """Nothing is run now."""
    return Result(Verdict.SKIPPED, step.period if isinstance(step, Perform) else step.after, step.trigger)
