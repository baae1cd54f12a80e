"""What a finished reconcile leaves behind in the log and in the metrics."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from runner.config.watches import Content, Watch
from runner.control.attempt import Attempt, Result, Verdict
from runner.control.request import Reason, Reasons, Request, Trigger
from runner.control.timers import Stages, Stopwatch
from runner.control.worker import Report
from runner.execute.outcome import Ending, Outcome, Stats
from runner.execute.run import Run
from runner.kube.listwatch import Change, What
from runner.metrics import Metrics
from runner.objects import GroupVersionKind, ObjectKey, parse_meta

THING = GroupVersionKind("example.com", "v1", "Thing")
KEY = ObjectKey(THING, "ns", "first")
WATCH = Watch(THING, Content(Path("/roles/thing"), is_role=True))
STAGES = Stages(waited=9.0, get=0.1, prepare=0.2, ansible=1.0, status=0.3)
OUTCOME = Outcome(Ending.FINISHED, 0, Stats(ok=3, changed=1))
FINALIZE = Content(Path("/roles/farewell"), is_role=True)


class Stopped(Stopwatch):
    """A stopwatch that shows what a test wants."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0, 0.0)

    def stages(self) -> Stages:
        return STAGES


def ended(outcome: Outcome | None = OUTCOME, failure: str = "", content: Content | None = None) -> Attempt:
    """A reconcile that is over."""
    attempt = Attempt(Request(KEY, frozenset({Trigger.CHANGED})), WATCH, Stopped(), lambda: datetime.now(UTC))
    attempt.outcome, attempt.failure = outcome, failure
    attempt.run = Run("7", KEY, "uid", content, {}, "") if content else None
    return attempt


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def report(metrics: Metrics) -> Report:
    return Report(metrics)


def value(metrics: Metrics, sample: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(sample, labels)


def test_a_run_is_one_line_with_result_counters_and_stages(report: Report) -> None:
    with capture_logs() as logs:
        report.finished(ended(), Result(Verdict.SUCCEEDED))
    (line,) = logs
    assert line["event"] == "Reconciled"
    assert (line["kind"], line["namespace"], line["name"], line["result"]) == ("Thing", "ns", "first", "succeeded")
    assert (line["ok"], line["changed"], line["seconds"]) == (3, 1, 1.6)
    assert line["stages"] == {"waited": 9.0, "get": 0.1, "prepare": 0.2, "ansible": 1.0, "status": 0.3}


def test_a_run_says_why_it_was(report: Report) -> None:
    with capture_logs() as logs:
        report.finished(ended(), Result(Verdict.SUCCEEDED))
    assert logs[0]["triggers"] == ["changed"]


def test_a_finalizer_is_told_of_with_its_own_content(report: Report) -> None:
    with capture_logs() as logs:
        report.finished(ended(content=FINALIZE), Result(Verdict.SUCCEEDED))
    assert logs[0]["content"] == "/roles/farewell"


def test_a_failure_is_an_error_with_its_cause_and_the_place_of_the_whole_output(metrics: Metrics) -> None:
    report = Report(metrics, output=lambda run: Path("/runs", run.ident, "stdout"))
    with capture_logs() as logs:
        report.finished(ended(failure="no such image", content=WATCH.content), Result(Verdict.FAILED))
    assert (logs[0]["log_level"], logs[0]["error"], logs[0]["output"]) == (
        "error",
        "no such image",
        "/runs/7/stdout",
    )


def test_a_run_is_counted_once_by_its_most_urgent_reason(report: Report, metrics: Metrics) -> None:
    reasons = Reasons((Reason(Trigger.PERIOD), Reason(Trigger.DEPENDENT)), more=3)
    attempt = ended()
    attempt.request = replace(attempt.request, reasons=reasons)
    with capture_logs() as logs:
        report.finished(attempt, Result(Verdict.SUCCEEDED))
    labels = {"group": "example.com", "version": "v1", "kind": "Thing", "result": "succeeded"}
    assert value(metrics, "ansible_operator_runs_total", **labels, trigger="dependent") == 1
    assert value(metrics, "ansible_operator_runs_total", **labels, trigger="period") is None
    assert logs[0]["reasons"][0] == "period"


@pytest.mark.parametrize("verdict", [Verdict.SKIPPED, Verdict.GONE])
def test_a_reconcile_that_ran_nothing_is_not_worth_a_line(report: Report, verdict: Verdict) -> None:
    with capture_logs() as logs:
        report.finished(ended(None), Result(verdict))
    assert logs == []


@pytest.mark.parametrize(("verdict", "result"), [(Verdict.SUCCEEDED, "succeeded"), (Verdict.FAILED, "failed")])
def test_results_are_counted_by_kind(report: Report, metrics: Metrics, verdict: Verdict, result: str) -> None:
    report.finished(ended(), Result(verdict))
    assert value(metrics, "ansible_operator_reconcile_result", GVK=str(THING), result=result) == 1


def test_a_run_that_asks_to_be_called_again_counts_as_no_result(report: Report, metrics: Metrics) -> None:
    report.finished(ended(), Result(Verdict.REQUEUED))
    assert value(metrics, "ansible_operator_reconcile_result", GVK=str(THING), result="succeeded") == 0


def test_the_reconcile_histogram_measures_the_run_and_not_the_wait(report: Report, metrics: Metrics) -> None:
    report.finished(ended(), Result(Verdict.SUCCEEDED))
    assert value(metrics, "ansible_operator_reconciles_sum", GVK=str(THING)) == pytest.approx(1.6)


def test_the_age_of_a_custom_resource_is_kept_while_it_exists(report: Report, metrics: Metrics) -> None:
    body = {"metadata": {"namespace": "ns", "name": "first", "creationTimestamp": "2026-01-02T03:04:05Z"}}
    labels = {"name": "first", "namespace": "ns", "group": "example.com", "version": "v1", "kind": "Thing"}
    report.changed(Change(What.ADDED, THING, None, parse_meta(body), listed=True))
    assert value(metrics, "resource_created_at_seconds", **labels) == 1767323045
    report.changed(Change(What.GONE, THING, parse_meta(body), None, listed=False))
    assert value(metrics, "resource_created_at_seconds", **labels) is None


@pytest.mark.parametrize("stamp", ["", "soon", "0000-00-00T00:00:00Z", "9" * 5000, "0001-01-01T00:00:00"])
def test_a_creation_time_that_nobody_can_read_is_not_told(report: Report, metrics: Metrics, stamp: str) -> None:
    body = {"metadata": {"namespace": "ns", "name": "first", "creationTimestamp": stamp}}
    report.changed(Change(What.ADDED, THING, None, parse_meta(body), listed=True))
    samples = [sample for family in metrics.registry.collect() for sample in family.samples]
    assert not [sample for sample in samples if sample.name == "resource_created_at_seconds" and sample.value > 0]
