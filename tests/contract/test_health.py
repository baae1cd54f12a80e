"""Probes and metrics answer as the Go operator's do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from runner.errors import ListenError
from runner.metrics import Metrics
from runner.objects import GroupVersionKind, ObjectKey
from runner.serve.metrics import Listener, metrics, probes

DATABASE = GroupVersionKind("app.example.com", "v1", "Database")


@asynccontextmanager
async def listening(listener: Listener) -> AsyncIterator[str]:
    await listener.start()
    try:
        yield f"http://127.0.0.1:{listener.port}"
    finally:
        await listener.stop()


async def get(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/healthz", "ok"),
        ("/healthz/", "ok"),
        ("/healthz/healthz", "ok"),
        ("/healthz/ping", "ok"),
        ("/readyz", "ok"),
        ("/readyz/readyz", "ok"),
        ("/healthz?verbose", "[+]healthz ok\nhealthz check passed\n"),
        ("/readyz?verbose=true", "[+]readyz ok\nhealthz check passed\n"),
    ],
)
async def test_a_healthy_operator_says_so(path: str, text: str) -> None:
    async with listening(probes("127.0.0.1:0")) as url:
        assert await get(url + path) == (200, text)


async def test_an_operator_that_is_not_ready_says_why_and_stays_alive() -> None:
    async with listening(probes("127.0.0.1:0", ready=lambda: "Database is absent")) as url:
        assert await get(url + "/readyz") == (
            500,
            "[-]readyz failed: Database is absent\nhealthz check failed\n",
        )
        assert (await get(url + "/readyz/readyz"))[0] == 500
        assert await get(url + "/healthz") == (200, "ok")


async def test_trouble_that_does_not_keep_the_operator_from_being_ready_is_told() -> None:
    async with listening(probes("127.0.0.1:0", remark=lambda: "not watching Database")) as url:
        assert await get(url + "/readyz") == (200, "ok, but not watching Database\n")
        verbose = "[+]readyz ok\n[!]not watching Database\nhealthz check passed\n"
        assert await get(url + "/readyz?verbose") == (200, verbose)
        assert await get(url + "/readyz/readyz") == (200, "ok")
        assert await get(url + "/healthz") == (200, "ok")


@pytest.mark.parametrize("address", ["", "0"])
async def test_an_empty_address_disables_the_probes(address: str) -> None:
    listener = probes(address)
    await listener.start()
    assert listener.port == 0
    await listener.stop()


async def test_an_empty_host_is_every_interface() -> None:
    async with listening(probes(":0")) as url:
        assert (await get(url + "/healthz"))[0] == 200


async def test_an_address_of_the_probes_that_is_in_use_is_named() -> None:
    first = probes("127.0.0.1:0")
    async with listening(first):
        with pytest.raises(ListenError, match=str(first.port)):
            await probes(f"127.0.0.1:{first.port}").start()


async def test_metrics_carry_the_names_that_dashboards_ask_for() -> None:
    known = Metrics()
    known.build("v1.2.3", "abc")
    known.result(DATABASE, succeeded=True)
    known.reconciled(DATABASE, 0.3)
    known.created(ObjectKey(DATABASE, "shop", "orders"), 1.5e9)
    known.worked(DATABASE, waited=0.2, seconds=0.3)
    known.ran(DATABASE, 3.0, succeeded=False)
    known.proxied("GET", 200, 0.004)
    known.framework(DATABASE, "success", 0.3)
    known.framework(DATABASE, "error", 0.3)
    known.requested("GET", "kubernetes:443", "200")
    known.master("election", leading=True)
    async with listening(metrics("127.0.0.1:0", known.registry)) as url:
        lines = (await get(url + "/metrics"))[1].splitlines()
    kind = 'GVK="app.example.com/v1, Kind=Database"'
    controller = 'controller="database-v1-controller",name="database-v1-controller"'
    framework = 'controller="database-v1-controller"'
    where = 'group="app.example.com",kind="Database",name="orders",namespace="shop",version="v1"'
    for line in (
        f"resource_created_at_seconds{{{where}}} 1.5e+09",
        'ansible_operator_build_info{commit="abc",version="v1.2.3"} 1.0',
        f'ansible_operator_reconcile_result{{{kind},result="succeeded"}} 1.0',
        f"ansible_operator_reconciles_count{{{kind}}} 1.0",
        f"workqueue_queue_duration_seconds_sum{{{controller}}} 0.2",
        f'ansible_operator_run_seconds_count{{{kind},result="failed"}} 1.0',
        'ansible_operator_proxy_request_seconds_count{code="200",method="GET"} 1.0',
        f'controller_runtime_reconcile_total{{{framework},result="success"}} 1.0',
        f'controller_runtime_reconcile_total{{{framework},result="error"}} 1.0',
        f"controller_runtime_reconcile_errors_total{{{framework}}} 1.0",
        f"controller_runtime_reconcile_time_seconds_count{{{framework}}} 2.0",
        f"workqueue_work_duration_seconds_sum{{{controller}}} 0.3",
        'rest_client_requests_total{code="200",host="kubernetes:443",method="GET"} 1.0',
        'leader_election_master_status{name="election"} 1.0',
    ):
        assert line in lines


async def test_an_object_that_is_gone_leaves_the_metrics() -> None:
    known, key = Metrics(), ObjectKey(DATABASE, "shop", "orders")
    known.created(key, 1.5e9)
    known.gone(key)
    known.gone(key)
    assert known.registry.get_sample_value("resource_created_at_seconds") is None
