"""What a finished reconcile leaves behind in the log and in the metrics."""

from __future__ import annotations

import time
from datetime import datetime

import structlog

from runner.config.watches import Watch
from runner.control.result import Stages, Verdict
from runner.execute.run import Outcome
from runner.kube.listwatch import Change
from runner.metrics import Metrics
from runner.objects import ObjectKey

log = structlog.get_logger("runner.reconcile")

_FRAMEWORK_RESULTS = {
    Verdict.SUCCEEDED: "success",
    Verdict.SKIPPED: "success",
    Verdict.GONE: "success",
    Verdict.REQUEUED: "requeue_after",
    Verdict.FAILED: "error",
}
"""controller-runtime's names; a reconcile that was cancelled is counted nowhere."""
_WORTH_A_LINE = {Verdict.SUCCEEDED, Verdict.REQUEUED, Verdict.FAILED, Verdict.CANCELLED}


class Report:
    """Told of every reconcile that ended, and of every custom resource that comes and goes."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def finished(
        self, key: ObjectKey, watch: Watch, stages: Stages, outcome: Outcome | None, verdict: Verdict
    ) -> None:
        """One line for the reader, and the figures."""
        seconds = stages.get + stages.prepare + stages.ansible + stages.status
        self._metrics.queue_wait(key.gvk, stages.waited)
        if result := _FRAMEWORK_RESULTS.get(verdict):
            self._metrics.framework(key.gvk, result, seconds)
        if outcome is not None:
            self._metrics.reconciled(key.gvk, seconds)
            self._metrics.ran(key.gvk, stages.ansible, succeeded=outcome.succeeded, engine=str(outcome.engine))
        if verdict in (Verdict.SUCCEEDED, Verdict.FAILED):
            self._metrics.result(key.gvk, succeeded=verdict is Verdict.SUCCEEDED)
        if verdict in _WORTH_A_LINE:
            self._line(key, watch, stages, outcome, verdict, seconds)

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
    ) -> None:
        stats = outcome.stats if outcome else None
        log.info(
            "Reconciled",
            kind=key.gvk.kind,
            namespace=key.namespace,
            name=key.name,
            result=str(verdict),
            seconds=round(seconds, 3),
            ok=stats.ok if stats else 0,
            changed=stats.changed if stats else 0,
            failures=stats.failures if stats else 0,
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
