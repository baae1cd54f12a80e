"""The user metrics API: every row of its rules, over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from structlog.testing import capture_logs

from runner.errors import ListenError, MetricError
from runner.metrics import Metrics
from runner.serve.metrics import exposed
from runner.serve.usermetrics import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    MOST_METRICS,
    Request,
    UserMetrics,
    listener,
    parse,
)

Answer = tuple[int, str]


@dataclass(frozen=True)
class Operator:
    """The API as a run sees it, and the metrics as Prometheus does."""

    session: aiohttp.ClientSession
    url: str
    metrics: Metrics

    async def post(self, body: str | dict[str, Any], path: str = "/metrics") -> Answer:
        given = {"data": body} if isinstance(body, str) else {"json": body}
        async with self.session.post(self.url + path, **given) as answer:
            return answer.status, await answer.text()

    async def report(self, kind: str, *changes: Any, name: str = "user_metric") -> Answer:
        """Several changes of a metric; the last one's answer."""
        answer = (0, "")
        for change in changes:
            answer = await self.post({"name": name, "description": "What it means.", kind: change})
        return answer

    def value(self, name: str = "user_metric", **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)

    def lines(self) -> list[str]:
        return exposed(self.metrics.registry).decode().splitlines()

    def types(self) -> list[str]:
        return [line for line in self.lines() if line.startswith("# TYPE")]


@pytest.fixture
async def operator() -> AsyncIterator[Operator]:
    metrics = Metrics()
    listening = listener("127.0.0.1:0", metrics.registry)
    await listening.start()
    async with aiohttp.ClientSession() as session:
        yield Operator(session, f"http://127.0.0.1:{listening.port}", metrics)
    await listening.stop()


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ([{"increment": True}], 1),
        ([{"increment": True, "add": 5}], 1),
        ([{"increment": True, "add": -5}], 1),
        ([{"add": 2.5}, {"add": 1}], 3.5),
        ([{"increment": False, "add": 2}], 2),
        ([{"add": 0}], 0),
        ([{"increment": None, "add": None}], 0),
        ([{}], 0),
    ],
)
async def test_a_counter_adds_up_its_changes(operator: Operator, changes: list[Any], value: float) -> None:
    assert await operator.report("counter", *changes) == (200, "")
    assert operator.value() == value


async def test_a_counter_does_not_decrease(operator: Operator) -> None:
    assert await operator.report("counter", {"add": 1}, {"add": -1}) == (
        400,
        "counter metrics cannot decrease in value\n",
    )
    assert operator.value() == 1


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ([{"increment": True}], 1),
        ([{"decrement": True}], -1),
        ([{"add": 2}, {"subtract": 3}], -1),
        ([{"set": 7.5}], 7.5),
        ([{"add": -2}], -2),
        ([{"increment": True, "decrement": True, "add": 9}], 1),
        ([{"decrement": True, "add": 9}], -1),
        ([{"add": 9, "subtract": 1, "set": 4}], 9),
        ([{"subtract": 1, "set": 4}], -1),
        ([{"set": 4, "set_to_current_time": True}], 4),
        ([{"set": 4}, {}], 4),
        ([{"set": 4}, {"set": None}], 4),
        ([{"set": 4}, {"set": 0}], 0),
        ([{"set": 4}, {"add": 0, "set": 0, "increment": False}], 0),
    ],
)
async def test_a_gauge_is_set_and_changed(operator: Operator, changes: list[Any], value: float) -> None:
    assert await operator.report("gauge", *changes) == (200, "")
    assert operator.value() == value


@pytest.mark.parametrize("change", [{"set_to_current_time": True}, {"set_to_current_time": True, "set": 0}])
async def test_a_gauge_can_be_the_time(operator: Operator, change: dict[str, Any]) -> None:
    assert await operator.report("gauge", change) == (200, "")
    assert (operator.value() or 0) > 1.7e9


async def test_a_histogram_has_the_usual_buckets(operator: Operator) -> None:
    await operator.report("histogram", {"observe": 0.3}, {"observe": 20}, {})
    assert (operator.value("user_metric_count"), operator.value("user_metric_sum")) == (3, 20.3)
    buckets = ("0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0", "10.0", "+Inf")
    assert [operator.value("user_metric_bucket", le=le) for le in buckets] == [1] * 6 + [2] * 5 + [3]


async def test_a_summary_has_sum_and_count(operator: Operator) -> None:
    await operator.report("summary", {"observe": 0.5}, {})
    assert (operator.value("user_metric_count"), operator.value("user_metric_sum")) == (2, 0.5)


@pytest.mark.parametrize(("first", "later"), [("summary", "histogram"), ("histogram", "summary")])
async def test_a_histogram_or_summary_may_be_observed_as_either(
    operator: Operator, first: str, later: str
) -> None:
    await operator.report(first, {"observe": 1})
    assert await operator.report(later, {"observe": 2}) == (200, "")
    assert operator.value("user_metric_sum") == 3


@pytest.mark.parametrize(
    ("first", "described"),
    [("counter", "a counter"), ("gauge", "a gauge"), ("histogram", "a histogram or summary")],
)
async def test_a_metric_does_not_change_its_type(operator: Operator, first: str, described: str) -> None:
    await operator.report(first, {})
    other = "counter" if first == "gauge" else "gauge"
    assert await operator.report(other, {}) == (
        400,
        f"cannot change metric type of user_metric, which is {described}\n",
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("{}", "a request should contain at least one metric\n"),
        ("null", "a request should contain at least one metric\n"),
        ('{"name": "a", "gauge": null}', "a request should contain at least one metric\n"),
        ('{"name": "a", "gauge": {}, "counter": {}}', "only one metric can be processed at a time\n"),
        ("", "the request is not JSON: Expecting value: line 1 column 1 (char 0)\n"),
        ("[]", "the request should be an object\n"),
        ('{"name": 1, "gauge": {}}', "name should be a string\n"),
        ('{"name": "a", "gauge": 1}', "gauge should be an object\n"),
        ('{"name": "a", "gauge": {"set": "1"}}', "gauge.set should be a number\n"),
        ('{"name": "a", "gauge": {"set": true}}', "gauge.set should be a number\n"),
        ('{"name": "a", "gauge": {"set": 1e999}}', "gauge.set should be a number\n"),
        ('{"name": "a", "gauge": {"set": NaN}}', "the request is not JSON: NaN is no number in JSON\n"),
        ('{"name": "a", "counter": {"increment": 1}}', "counter.increment should be true or false\n"),
    ],
)
async def test_a_request_that_cannot_be_read_is_refused(operator: Operator, body: str, text: str) -> None:
    assert await operator.post(body) == (400, text)


async def test_a_null_kind_does_not_count_keys_have_no_case_and_the_rest_is_ignored(operator: Operator) -> None:
    body = {"NAME": "user_metric", "Gauge": {"SET": 3, "more": 1}, "counter": None, "more": 1}
    assert await operator.post(body) == (200, "")
    assert operator.value() == 3


@pytest.mark.parametrize(
    "name",
    [
        "ansible_operator_reconcile_result",
        "process_open_fds",
        "ansible_operator_reconciles_count",
        "workqueue_depth",
    ],
)
@pytest.mark.parametrize("kind", ["gauge", "counter", "histogram"])
async def test_a_name_of_the_operators_own_metrics_is_refused(operator: Operator, name: str, kind: str) -> None:
    before = operator.types()
    status, text = await operator.report(kind, {}, name=name)
    assert (status, name in text, "choose another name" in text) == (400, True, True)
    assert operator.types() == before


async def test_a_name_that_prometheus_does_not_allow_is_refused(operator: Operator) -> None:
    assert (await operator.report("gauge", {}, name=""))[0] == 400
    assert (await operator.report("counter", {}, name=""))[0] == 400


async def test_metrics_are_exposed_under_their_very_names_with_their_first_help(operator: Operator) -> None:
    await operator.report("counter", {"add": 2}, name="backups_total")
    await operator.report("gauge", {"set": 3}, name="backups")
    await operator.report("counter", {"add": 4}, name="restores")
    await operator.post({"name": "backups", "description": "Another text.", "gauge": {}})
    lines = operator.lines()
    for line in (
        "# HELP backups_total What it means.",
        "# TYPE backups_total counter",
        "backups_total 2.0",
        "# HELP backups What it means.",
        "# TYPE backups gauge",
        "backups 3.0",
        "# TYPE restores counter",
        "restores 4.0",
    ):
        assert lines.count(line) == 1, line


async def test_other_methods_are_405_and_other_paths_404(operator: Operator) -> None:
    async with operator.session.get(f"{operator.url}/metrics") as answer:
        assert answer.status == 405
    assert (await operator.post({}, "/"))[0] == 404


async def test_a_port_in_use_is_named_with_the_flag_that_changes_it(operator: Operator) -> None:
    address = operator.url.removeprefix("http://")
    with pytest.raises(ListenError, match=f"{address}: .*--user-metrics-bind-address"):
        await listener(address, Metrics().registry).start()


async def test_a_port_in_use_is_done_without_where_that_may_be(operator: Operator) -> None:
    other = listener(operator.url.removeprefix("http://"), Metrics().registry, optional=True)
    with capture_logs() as logs:
        await other.start()
    await other.stop()
    assert other.port == 0
    assert "Doing without user-metrics-bind-address" in logs[0]["said"]


async def test_metrics_beyond_the_most_are_refused_and_known_ones_go_on(operator: Operator) -> None:
    for number in range(MOST_METRICS):
        assert await operator.report("counter", {"increment": True}, name=f"user_{number}") == (200, "")

    status, text = await operator.report("gauge", {"set": 1}, name="one_more")
    assert (status, text) == (400, "there are 1000 metrics already, which is the most: use fewer names\n")
    assert await operator.report("counter", {"increment": True}, name="user_7") == (200, "")
    assert operator.value("user_7") == 2.0


@pytest.mark.parametrize(
    ("name", "description"), [("n" * (LONGEST_NAME + 1), ""), ("name", "d" * (LONGEST_DESCRIPTION + 1))]
)
async def test_a_request_that_is_too_long_is_refused(operator: Operator, name: str, description: str) -> None:
    status, text = await operator.post({"name": name, "description": description, "counter": {"add": 1}})
    assert (status, text) == (400, "a name has at most 256 characters, a description 4096: shorten them\n")
    assert operator.value(name) is None


def test_a_new_name_costs_the_same_however_many_there_are() -> None:
    collected = 0

    class Counting(Collector):
        def collect(self) -> list[Metric]:
            nonlocal collected
            collected += 1
            return []

    registry = Metrics().registry
    registry.register(Counting())
    known = UserMetrics(registry)
    before = collected
    for number in range(MOST_METRICS):
        known.record(Request(f"user_{number}", "", "histogram", {"observe": 1.0}))

    assert collected - before == 1


async def test_a_request_of_too_many_levels_is_refused(operator: Operator) -> None:
    assert await operator.post("[" * 100_000) == (400, "the request has too many levels\n")


FIELDS = st.sampled_from(["name", "Name", "description", "counter", "gauge", "HISTOGRAM", "summary", "add", "set"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(FIELDS | st.sampled_from(["observe", "increment"]), inner),
    max_leaves=10,
)
NAMES = st.text() | st.sampled_from(["a", "a_sum", "a_total", "a_bucket", "a_created", "b"])
REQUESTS = st.builds(
    lambda name, kind, change: {"name": name, kind: change},
    NAMES,
    st.sampled_from(["counter", "gauge", "histogram", "summary"]),
    st.dictionaries(
        st.sampled_from(["add", "set", "observe", "increment", "subtract"]), st.booleans() | st.floats()
    ),
)


@given(st.binary() | (JSON | REQUESTS).map(json.dumps).map(str.encode))
def test_any_request_is_understood_or_refused(body: bytes) -> None:
    with suppress(MetricError):
        parse(body)


@given(st.lists(REQUESTS, max_size=20))
def test_after_any_requests_the_metrics_can_be_read(requests: list[dict[str, Any]]) -> None:
    registry = CollectorRegistry()
    known = UserMetrics(registry)
    for request in requests:
        with suppress(MetricError):
            known.record(parse(json.dumps(request).encode()))
    families = list(text_string_to_metric_families(exposed(registry).decode()))
    assert len(families) <= len(requests)
