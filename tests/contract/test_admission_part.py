"""Admission from the first review of a pod to its last: when it may be asked, and how it ends."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from runner.config.admission import Conversion
from runner.config.settings import ClusterSettings, Settings
from runner.config.watches import Content, Watch
from runner.config.webhooks import CONVERT
from runner.config.webhooks import path as webhook_path
from runner.execute.executor import Executor
from runner.execute.rundir import RunDirectory
from runner.metrics import Metrics
from runner.objects import GroupVersionKind, ObjectKey
from runner.serve.admission import part
from runner.serve.admission.part import Admission
from runner.serve.certificates import LOCAL, issued
from tests.contract.standin import OWNER, Bench
from tests.fixtures.waiting import until

GVK = GroupVersionKind("example.com", "v1", "Thing")
WATCH = Watch(GVK, Content(Path("/roles/thing"), is_role=True), conversions={"v2": Conversion()})
REVIEW = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "ConversionReview",
    "request": {"uid": "u", "desiredAPIVersion": "example.com/v1", "objects": []},
}
IN_POD = ClusterSettings(service_host="10.0.0.1")
ON_LAPTOP = ClusterSettings(kubeconfig="/a/kubeconfig")
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
Serve = Callable[..., Awaitable[Admission]]


@pytest.fixture
async def stopping() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def serve(bench: Bench, tmp_path: Path, stopping: asyncio.Event) -> AsyncIterator[Serve]:
    """Starts one that converts a kind; the test itself stops one that `ends`."""
    served: list[Admission] = []

    async def start(cluster: ClusterSettings, *, ends: bool = False, **fields: Any) -> Admission:
        fields = {"temporary_directory": tmp_path / "tmp", **fields}
        settings = Settings(webhook_port=0, runner_dir=tmp_path / "runner", cluster=cluster, **fields)
        executor = Executor.of(settings, {GVK: WATCH})
        admission = Admission(settings, [WATCH], bench.client, executor, bench.proxy, Metrics(), dict, stopping)
        if not ends:
            served.append(admission)
        await admission.start()
        return admission

    yield start
    for admission in served:
        await admission.stop()


async def convert(session: aiohttp.ClientSession, admission: Admission) -> tuple[int, str]:
    """The status of an answer, and what becomes of its connection."""
    url = f"https://127.0.0.1:{admission.port}{CONVERT}"
    async with session.post(url, json=REVIEW, ssl=False) as answer:
        await answer.read()
        return answer.status, answer.headers.get("Connection", "keep-alive")


async def test_in_a_pod_reviews_are_answered_for_a_while_after_the_end_was_asked_for(
    serve: Serve, stopping: asyncio.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "LINGERS", 1.0)
    admission = await serve(IN_POD, ends=True, webhook_cert_path=str(tmp_path))
    async with aiohttp.ClientSession() as session:
        assert await convert(session, admission) == (200, "keep-alive")
        stopping.set()
        ending = asyncio.create_task(admission.stop())
        assert await convert(session, admission) == (200, "close")
        assert await convert(session, admission) == (200, "close")
        assert not ending.done()
        await ending
        with pytest.raises(aiohttp.ClientConnectorError):
            await convert(session, admission)


async def test_on_a_laptop_the_end_is_not_put_off(
    serve: Serve, stopping: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "LINGERS", 3600.0)
    admission = await serve(ON_LAPTOP, ends=True, webhooks="on")
    stopping.set()
    await asyncio.wait_for(admission.stop(), 30)


async def test_what_reviews_left_that_were_killed_is_gone_once_they_are_served_again(
    serve: Serve, tmp_path: Path
) -> None:
    left = RunDirectory.of(tmp_path / "runner" / part.FILES, ObjectKey(GVK, "default", "review-7"))
    left.artifacts.mkdir(parents=True)
    for path in (left.lock, left.kubeconfig, left.artifacts / "rc"):
        path.touch()
    await serve(ON_LAPTOP, webhooks="on")
    await until(lambda: not left.path.exists())


async def test_what_ends_though_the_process_does_not_is_not_put_off(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "LINGERS", 3600.0)
    admission = await serve(IN_POD, ends=True, webhook_cert_path=str(tmp_path))
    await asyncio.wait_for(admission.stop(), 30)


async def test_a_pod_is_ready_for_reviews_once_the_api_server_can_trust_its_certificate(
    serve: Serve, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if not working.is_set():
            return web.json_response({"kind": "Status", "code": 500, "message": "out of order"}, status=500)
        if request.method == "GET" and "/secrets/" in request.path:
            return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound"}, status=404)
        return web.json_response({"metadata": {"name": "x"}, "items": []})

    bench.answer = answer
    monkeypatch.setattr("runner.serve.admission.secret.AGAIN_AFTER", 0.01)
    admission = await serve(IN_POD, webhook_cert_secret="own")
    assert "certificate" in admission.trouble
    await until(lambda: "out of order" in admission.trouble)
    working.set()
    await until(lambda: admission.trouble == "")


async def test_an_operator_that_may_not_keep_its_certificate_is_not_ready_and_says_why(
    serve: Serve, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"kind": "Status", "code": 403, "message": "you may not"}, status=403)

    bench.answer = answer
    monkeypatch.setattr("runner.serve.admission.secret.AGAIN_AFTER", 0.01)
    admission = await serve(IN_POD, webhook_cert_secret="own")
    await until(lambda: "you may not" in admission.trouble)
    asked = len(bench.seen)
    await until(lambda: len(bench.seen) > asked)
    assert "you may not" in admission.trouble


def mount(directory: Path) -> None:
    pair = issued(LOCAL)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tls.key").write_bytes(pair.key)
    (directory / "tls.crt").write_bytes(pair.certificate)


async def test_a_pod_without_a_mounted_certificate_is_not_ready_until_one_is_mounted(
    serve: Serve, bench: Bench, tmp_path: Path
) -> None:
    directory = tmp_path / "k8s-webhook-server" / "serving-certs"
    with capture_logs() as logs:
        admission = await serve(IN_POD, temporary_directory=tmp_path)
    assert f"the webhooks have no certificate in {directory}. Mount" in admission.trouble
    assert [line["directory"] for line in logs if line["event"] == part.UNCERTIFIED] == [str(directory)]
    mount(directory)
    assert admission.trouble == ""
    assert bench.seen == []


async def test_an_empty_directory_that_was_asked_for_is_no_certificate(serve: Serve, tmp_path: Path) -> None:
    admission = await serve(IN_POD, webhook_cert_path=str(tmp_path / "certs"))
    assert f"no certificate in {tmp_path / 'certs'}" in admission.trouble
    mount(tmp_path / "certs")
    assert admission.trouble == ""


async def test_a_mounted_certificate_goes_before_one_of_the_operators_own(
    serve: Serve, bench: Bench, tmp_path: Path
) -> None:
    mount(tmp_path / "k8s-webhook-server" / "serving-certs")
    admission = await serve(IN_POD, temporary_directory=tmp_path, webhook_cert_secret="own")
    assert (admission.trouble, bench.seen) == ("", [])


async def test_outside_of_a_pod_no_certificate_needs_to_be_mounted(serve: Serve, tmp_path: Path) -> None:
    admission = await serve(ON_LAPTOP, webhooks="on", temporary_directory=tmp_path)
    assert admission.trouble == ""


async def test_what_the_own_certificate_is_kept_with_is_closed_to_runs(
    serve: Serve, bench: Bench, tmp_path: Path
) -> None:
    service = {"namespace": await bench.client.namespace(), "path": webhook_path("validate", GVK)}
    webhooks = {
        "metadata": {"name": "ours"},
        "webhooks": [{"name": "validate.things", "clientConfig": {"service": service}}],
    }
    may_list = asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET" and "/secrets/" in request.path:
            return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound"}, status=404)
        if request.method == "GET" and request.path == CONFIGURATIONS:
            await may_list.wait()
            return web.json_response({"items": [webhooks]})
        return web.json_response({"metadata": {"name": "x"}, "items": []})

    bench.answer = answer
    admission = await serve(IN_POD, temporary_directory=tmp_path, webhook_cert_secret="own")
    with bench.proxy.grant(OWNER) as grant:
        at_first = (await bench.ask("PATCH", f"{CONFIGURATIONS}/of-somebody-else", grant)).status
        may_list.set()
        await until(lambda: admission.trouble == "")
        statuses = [
            (await bench.ask(method, place, grant)).status
            for method, place in (
                ("PATCH", f"{CONFIGURATIONS}/ours"),
                ("PATCH", f"{CONFIGURATIONS}/of-somebody-else"),
                ("GET", f"/api/v1/namespaces/{service['namespace']}/secrets/own"),
            )
        ]
    assert (at_first, statuses) == (403, [403, 200, 403])


async def test_conversions_are_answered_while_the_operators_loop_is_busy(serve: Serve) -> None:
    admission = await serve(ON_LAPTOP)
    tls = ssl.create_default_context(cadata=admission.certificate.authority.decode())
    asking = HTTPSConnection("127.0.0.1", admission.port, context=tls, timeout=10)
    asking.request("POST", CONVERT, json.dumps(REVIEW))  # no await: nothing else goes on in this loop meanwhile
    assert asking.getresponse().status == 200
    asking.close()


def listening_on(port: int) -> set[str]:
    """The addresses on which this machine listens at a port, as the kernel writes them."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()]
    listening = [local.split(":") for _, local, _, state, *_ in lines if state == "0A"]
    return {address for address, number in listening if int(number, 16) == port}


@pytest.mark.parametrize(("webhooks", "address"), [("dev", "0100007F"), ("on", "0" * 32)])
async def test_webhooks_of_development_listen_on_the_loopback_only(
    serve: Serve, bench: Bench, webhooks: str, address: str
) -> None:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound"}, status=404)

    bench.answer = answer
    admission = await serve(ON_LAPTOP, webhooks=webhooks)
    assert listening_on(admission.port) == {address}
