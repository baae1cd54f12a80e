"""Takes requests off the queue, has them reconciled, and says what follows: queue, metrics and log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Protocol

import structlog

from runner.control.attempt import Attempt, Result, Verdict
from runner.control.narrator import Narrator
from runner.control.queue import WorkQueue
from runner.control.reasons import told_all
from runner.control.request import Request
from runner.control.timers import LONGEST, Stages
from runner.execute.outcome import result_of
from runner.execute.run import Event, Run, Sink
from runner.kube.listwatch import Change
from runner.metrics import Metrics
from runner.objects import ObjectKey

LONGEST_TRANSIENT = 30.0
"""Longest backoff, in seconds, for transient failures: trying again costs one request, not a run."""

log = structlog.get_logger(__name__)


report_log = structlog.get_logger("runner.reconcile")
_FRAMEWORK_RESULTS = {
    Verdict.SUCCEEDED: "success",
    Verdict.SKIPPED: "success",
    Verdict.GONE: "success",
    Verdict.CHECKED: "success",
    Verdict.REQUEUED: "requeue_after",
    Verdict.FAILED: "error",
}
"""controller-runtime's names; a reconcile that was cancelled is counted nowhere."""
_WORTH_A_LINE = {Verdict.SUCCEEDED, Verdict.REQUEUED, Verdict.FAILED, Verdict.CANCELLED}


class Workers:
    """`number` of them work until `stop`. `reconcile` raises nothing but CancelledError."""

    def __init__(
        self,
        queue: WorkQueue,
        reconcile: Callable[[Request], Awaitable[Result]],
        number: int,
        followed: Callable[[ObjectKey, Result, float | None], None] = lambda _key, _result, _delay: None,
    ) -> None:
        """`followed` is told of every result, and in how many seconds the key comes again, if it does."""
        self._queue = queue
        self._reconcile = reconcile
        self._number = number
        self._followed = followed
        self._tasks: list[asyncio.Task[None]] = []
        self._busy: dict[ObjectKey, float] = {}

    def busy(self) -> dict[ObjectKey, float]:
        """What is being reconciled, and for how many seconds."""
        now = time.monotonic()
        return {key: now - since for key, since in self._busy.items()}

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._work(), name=f"worker-{n}") for n in range(self._number)]

    async def stop(self, grace: float) -> bool:
        """Take nothing new, let what is active finish for `grace` seconds (negative: for ever), then cancel it.

        Cancelled reconciles write their final status still. Returns whether none had to be cancelled.
        """
        self._queue.close()
        if self._tasks and self._busy:
            await asyncio.wait(self._tasks, timeout=None if grace < 0 else grace)
        in_time = not self._busy
        self.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        return in_time

    def cancel(self) -> None:
        """Begin to end everything at once; `stop` waits until it has ended."""
        self._queue.close()
        for task in self._tasks:
            task.cancel()

    async def _work(self) -> None:
        while (request := await self._queue.get()) is not None:
            log.debug("Taken", key=str(request.key), waited=request.waited)
            self._busy[request.key] = time.monotonic()
            try:
                result = await self._reconcile(request)
                delay = follow_up(self._queue, request.key, result)
                log.debug("Followed up", key=str(request.key), result=str(result.verdict), again_in=delay)
                self._followed(request.key, result, delay)
            finally:
                del self._busy[request.key]
                self._queue.done(request.key)


def follow_up(queue: WorkQueue, key: ObjectKey, result: Result) -> float | None:
    """Put into the queue what a reconcile's result asks for; in how many seconds that is, if anything."""
    match result.verdict:
        case Verdict.GONE:
            queue.drop(key)
            return None
        case Verdict.SUCCEEDED | Verdict.REQUEUED:
            queue.succeeded(key)
        case Verdict.FAILED | Verdict.CANCELLED if result.after is None:
            limit = LONGEST_TRANSIENT if result.transient else LONGEST
            return queue.retry(key, result.generation, limit=limit)
    if result.after is not None:
        queue.add(key, result.trigger, after=result.after)
    return result.after


class Audience(Protocol):
    """Who else is told of custom resources, and of reconciles, runs and their events as they go."""

    def changed(self, change: Change) -> None: ...
    def started(self, attempt: Attempt) -> None: ...
    def __call__(self, run: Run, event: Event) -> None: ...
    def finished(self, attempt: Attempt, result: Result) -> None: ...
    def followed(self, key: ObjectKey, delay: float | None) -> None: ...


class Report:
    """Told of every reconcile, and of every custom resource that comes and goes.

    With a `narrator` the log is for people, and it is he who writes of runs; `output` is where a run's is kept.
    """

    def __init__(
        self,
        metrics: Metrics,
        narrator: Narrator | None = None,
        output: Callable[[Run], Path] = lambda _run: Path(),
        audience: Audience | None = None,
    ) -> None:
        self._metrics = metrics
        self._narrator = narrator
        self._output = output
        self._audience = audience
        told: list[Sink] = [one for one in (narrator, audience) if one is not None]
        self.event: Sink | None = told[0] if len(told) == 1 else partial(_tell_all, told) if told else None

    def started(self, attempt: Attempt) -> None:
        """A run is about to start."""
        if self._narrator:
            self._narrator.started(attempt)
        if self._audience:
            self._audience.started(attempt)

    def finished(self, attempt: Attempt, result: Result) -> None:
        """A record for the reader, and the figures."""
        stages = attempt.stopwatch.stages()
        self._measure(attempt, result.verdict, stages)
        if self._narrator:
            self._narrator.finished(attempt, result)
        elif result.verdict in _WORTH_A_LINE:
            self._record(attempt, result.verdict, stages)
        if self._audience:
            self._audience.finished(attempt, result)

    def _measure(self, attempt: Attempt, verdict: Verdict, stages: Stages) -> None:
        gvk, outcome, reasons = attempt.key.gvk, attempt.outcome, attempt.request.reasons
        self._metrics.worked(gvk, waited=stages.waited, seconds=stages.seconds)
        if named := _FRAMEWORK_RESULTS.get(verdict):
            self._metrics.framework(gvk, named, stages.seconds)
        if outcome is not None:
            self._metrics.reconciled(gvk, stages.seconds)
            self._metrics.ran(gvk, stages.ansible, succeeded=outcome.succeeded, engine=str(outcome.engine))
            if reasons.first:
                self._metrics.ran_because(gvk, reasons.most_urgent, result_of(outcome))
        if attempt.pruned:
            self._metrics.pruned(gvk, len(attempt.pruned))
        if verdict in (Verdict.SUCCEEDED, Verdict.FAILED):
            self._metrics.result(gvk, succeeded=verdict is Verdict.SUCCEEDED)
            self._metrics.object_reconciled(attempt.key, succeeded=verdict is Verdict.SUCCEEDED)
        elif verdict is Verdict.GONE:
            self._metrics.forget(attempt.key)
        for action, task in attempt.under_way.failed if attempt.under_way else ():
            self._metrics.task_failed(gvk, action, task)

    def followed(self, key: ObjectKey, result: Result, delay: float | None) -> None:
        """What follows a reconcile is in the queue now, in so many seconds."""
        if self._narrator:
            self._narrator.followed(key, delay)
        elif result.verdict is Verdict.FAILED and delay is not None:
            log.info("retry", key=str(key), seconds=round(delay, 3))
        if self._audience:
            self._audience.followed(key, delay)

    def changed(self, change: Change) -> None:
        """A custom resource appeared, changed or is gone."""
        if self._audience:
            self._audience.changed(change)
        meta = change.new or change.old
        if meta is None:
            return
        key = ObjectKey(change.gvk, meta.namespace, meta.name)
        if change.new is None:
            self._metrics.gone(key)
        elif change.old is None and (created := _seconds(meta.creation)) is not None:
            self._metrics.created(key, created)

    def _record(self, attempt: Attempt, verdict: Verdict, stages: Stages) -> None:
        key, outcome, run = attempt.key, attempt.outcome, attempt.run
        stats = outcome.stats if outcome else None
        failed = verdict is Verdict.FAILED
        (report_log.error if failed else report_log.info)(
            "Reconciled",
            kind=key.gvk.kind,
            namespace=key.namespace,
            name=key.name,
            result=str(verdict),
            seconds=round(stages.seconds, 3),
            ok=stats.ok if stats else 0,
            changed=stats.changed if stats else 0,
            failures=stats.failures if stats else 0,
            triggers=sorted(attempt.request.triggers),
            reasons=told_all(attempt.request.reasons),
            content=str(attempt.content.path),
            **({"error": attempt.failure} if failed else {}),
            **({"output": str(self._output(run))} if failed and run else {}),
            **({"engine": str(outcome.engine)} if outcome else {}),
            **({"pruned": list(map(str, attempt.pruned))} if attempt.pruned else {}),
            **({"why_cold": outcome.why_cold} if outcome and outcome.why_cold else {}),
            began=round(time.time() - stages.seconds, 3),
            stages={name: round(getattr(stages, name), 4) for name in stages.__slots__},
        )


def _tell_all(sinks: Iterable[Sink], run: Run, event: Event) -> None:
    for sink in sinks:
        sink(run, event)


def _seconds(stamp: str) -> float | None:
    """Since 1970; None where nobody can read it."""
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except (ValueError, OverflowError):
        return None
