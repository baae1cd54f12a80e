"""Takes requests off the queue, has them reconciled, and says what follows: queue, metrics and log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime

import structlog

from runner.config.watches import Watch
from runner.control.attempt import Result, Stages, Verdict
from runner.control.queue import WorkQueue
from runner.control.reasons import told_all
from runner.control.request import NO_REASONS, Reasons, Request
from runner.control.timers import LONGEST
from runner.execute.run import Outcome, result_of
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
    Verdict.REQUEUED: "requeue_after",
    Verdict.FAILED: "error",
}
"""controller-runtime's names; a reconcile that was cancelled is counted nowhere."""
_WORTH_A_LINE = {Verdict.SUCCEEDED, Verdict.REQUEUED, Verdict.FAILED, Verdict.CANCELLED}


class Workers:
    """`number` of them work until `stop`. `reconcile` raises nothing but CancelledError."""

    def __init__(self, queue: WorkQueue, reconcile: Callable[[Request], Awaitable[Result]], number: int) -> None:
        self._queue = queue
        self._reconcile = reconcile
        self._number = number
        self._tasks: list[asyncio.Task[None]] = []
        self._busy = 0

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
            self._busy += 1
            try:
                follow_up(self._queue, request.key, await self._reconcile(request))
            finally:
                self._busy -= 1
                self._queue.done(request.key)


def follow_up(queue: WorkQueue, key: ObjectKey, result: Result) -> None:
    """Put into the queue what a reconcile's result asks for."""
    match result.verdict:
        case Verdict.GONE:
            queue.drop(key)
            return
        case Verdict.SUCCEEDED | Verdict.REQUEUED:
            queue.succeeded(key)
        case Verdict.FAILED | Verdict.CANCELLED if result.after is None:
            limit = LONGEST_TRANSIENT if result.transient else LONGEST
            delay = queue.retry(key, result.generation, limit=limit)
            log.info("retry", key=str(key), seconds=round(delay, 3))
    if result.after is not None:
        queue.add(key, result.trigger, after=result.after)


class Report:
    """Told of every reconcile that ended, and of every custom resource that comes and goes."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def finished(
        self,
        key: ObjectKey,
        watch: Watch,
        stages: Stages,
        outcome: Outcome | None,
        verdict: Verdict,
        reasons: Reasons = NO_REASONS,
    ) -> None:
        """One line for the reader, and the figures."""
        seconds = stages.get + stages.prepare + stages.ansible + stages.status
        self._metrics.worked(key.gvk, waited=stages.waited, seconds=seconds)
        if result := _FRAMEWORK_RESULTS.get(verdict):
            self._metrics.framework(key.gvk, result, seconds)
        if outcome is not None:
            self._metrics.reconciled(key.gvk, seconds)
            self._metrics.ran(key.gvk, stages.ansible, succeeded=outcome.succeeded, engine=str(outcome.engine))
            if reasons.first:
                self._metrics.ran_because(key.gvk, reasons.most_urgent, result_of(outcome))
        if verdict in (Verdict.SUCCEEDED, Verdict.FAILED):
            self._metrics.result(key.gvk, succeeded=verdict is Verdict.SUCCEEDED)
            self._metrics.settled(key, succeeded=verdict is Verdict.SUCCEEDED)
        elif verdict is Verdict.GONE:
            self._metrics.forget(key)
        if verdict in _WORTH_A_LINE:
            self._line(key, watch, stages, outcome, verdict, seconds, reasons)

    def changed(self, change: Change) -> None:
        """A custom resource appeared, changed or is gone."""
        meta = change.new or change.old
        if meta is None:
            return
        key = ObjectKey(change.gvk, meta.namespace, meta.name)
        if change.new is None:
            self._metrics.gone(key)
        elif change.old is None and (created := _seconds(meta.creation)) is not None:
            self._metrics.created(key, created)

    def _line(
        self,
        key: ObjectKey,
        watch: Watch,
        stages: Stages,
        outcome: Outcome | None,
        verdict: Verdict,
        seconds: float,
        reasons: Reasons,
    ) -> None:
        stats = outcome.stats if outcome else None
        report_log.info(
            "Reconciled",
            kind=key.gvk.kind,
            namespace=key.namespace,
            name=key.name,
            result=str(verdict),
            seconds=round(seconds, 3),
            ok=stats.ok if stats else 0,
            changed=stats.changed if stats else 0,
            failures=stats.failures if stats else 0,
            reasons=told_all(reasons),
            content=str(watch.content.path),
            **({"engine": str(outcome.engine)} if outcome else {}),
            **({"why_cold": outcome.why_cold} if outcome and outcome.why_cold else {}),
            began=round(time.time() - seconds, 3),
            stages={name: round(getattr(stages, name), 4) for name in stages.__slots__},
        )


def _seconds(stamp: str) -> float | None:
    """Since 1970; None where nobody can read it."""
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except (ValueError, OverflowError):
        return None
