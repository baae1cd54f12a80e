"""osdk_metric against the user metrics API, and requeue_after, by one play without a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runner.metrics import Metrics
from runner.serve.usermetrics import listener
from tests.fixtures.playbooks import results

COUNTER: dict[str, Any] = {"name": "made_total", "description": "How many."}
GAUGE: dict[str, Any] = {"name": "size", "description": "How large."}


async def test_what_a_play_reports_becomes_metrics(tmp_path: Path) -> None:
    metrics = Metrics()
    listening = listener("127.0.0.1:0", metrics.registry)
    await listening.start()
    address = f"http://localhost:{listening.port}/metrics"
    given = {
        "counter": {**COUNTER, "counter": {"increment": True}},
        "empty counter": {**COUNTER, "counter": {}},
        "gauge": {**GAUGE, "gauge": {"set": 4.5}},
        "gauge to 0": {**GAUGE, "gauge": {"set": 0}},
        "histogram": {"name": "took", "description": "How long.", "histogram": {"observe": 0.3}},
        "summary": {"name": "weighed", "description": "How much.", "summary": {"observe": 2}},
        "wrong kind": {**GAUGE, "counter": {"increment": True}},
        "no kind": GAUGE,
    }
    tasks = {name: {"operator_sdk.util.osdk_metric": {"address": address, **it}} for name, it in given.items()}
    tasks["nobody there"] = {"operator_sdk.util.osdk_metric": {**GAUGE, "address": "http://127.0.0.1:1/metrics"}}
    try:
        answers = await results(tmp_path, tasks, http_proxy="http://127.0.0.1:1")
    finally:
        await listening.stop()
    value = metrics.registry.get_sample_value
    assert [value(name) for name in ("made_total", "size", "took_sum", "weighed_count")] == [1, 0, 0.3, 1]
    failed = {name: answer for name, answer in answers.items() if answer.get("failed")}
    assert set(failed) == {"wrong kind", "no kind", "nobody there"}
    assert all(answer["changed"] for name, answer in answers.items() if name not in failed)
    wrong = answers["wrong kind"]
    assert (wrong["status_code"], wrong["msg"]) == (400, "cannot change metric type of size, which is a gauge\n")
    assert answers["no kind"]["msg"] == "a request should contain at least one metric\n"
    assert answers["nobody there"]["status_code"] == -1


async def test_requeue_after_takes_hours_minutes_and_seconds(tmp_path: Path) -> None:
    times = ("1h2m3s", "", "0s", "1 m", "5d")
    tasks = {f"time {time}": {"operator_sdk.util.requeue_after": {"time": time}} for time in times}
    answers = await results(tmp_path, tasks)
    for time in times[:3]:
        answer = answers[f"time {time}"]
        assert (answer["period"], answer["changed"]) == (time, False)
    for time in times[3:]:
        assert answers[f"time {time}"]["msg"] == "invalid time input"
