"""Who may pass the proxy, and until when."""

from __future__ import annotations

import asyncio
import json
import socket

import aiohttp
import pytest
import yaml
from aiohttp import web

from runner.errors import ListenError
from runner.serve.grants import basic, user_of
from runner.serve.proxy import Proxy
from tests.contract import standin
from tests.contract.standin import OWNER, Answer, Bench, FakeDiscovery

PATH = "/api/v1/namespaces/shop/configmaps/c"


async def test_a_run_passes_with_its_kubeconfigs_password(bench: Bench) -> None:
    with bench.proxy.grant(OWNER) as grant:
        answer = await bench.ask("GET", PATH, grant)
    assert answer.status == 200


async def test_a_run_passes_with_the_credentials_of_the_servers_url(bench: Bench) -> None:
    """Go clients send nothing else over plain HTTP."""
    with bench.proxy.grant(OWNER) as grant:
        server = yaml.safe_load(grant.kubeconfig)["clusters"][0]["cluster"]["server"]
        user, secret = server.removeprefix("http://").partition("@")[0].split(":")
        answer = await bench.ask("GET", PATH, headers={"Authorization": f"Basic {basic(user, secret)}"})
    assert answer.status == 200


async def test_the_servers_url_is_the_same_for_one_run_of_an_owner_after_another(bench: Bench) -> None:
    texts = []
    for _ in range(2):
        with bench.proxy.grant(OWNER) as grant:
            texts.append(yaml.safe_load(grant.kubeconfig))
    first, second = (text["clusters"][0]["cluster"]["server"] for text in texts)
    assert first == second
    assert texts[0]["users"] != texts[1]["users"]


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "Bearer operator",
        "Basic",
        "Basic %%%",
        f"Basic {basic(user_of(OWNER), 'unused')}",
        f"Basic {basic(user_of(OWNER), '')}",
        "Basic \u00fc",
    ],
)
async def test_whoever_has_no_grant_is_refused(bench: Bench, authorization: str | None) -> None:
    with bench.proxy.grant(OWNER):
        headers = {"Authorization": authorization} if authorization else {}
        answer = await bench.ask("GET", PATH, headers=headers)
        assert (answer.status, json.loads(answer.body)["kind"]) == (401, "Status")
    assert bench.seen == []


async def test_a_finished_run_is_refused_on_the_connection_it_still_has(bench: Bench) -> None:
    with bench.proxy.grant(OWNER) as grant:
        headers = bench.headers(grant)
        await bench.ask("GET", PATH, headers=headers)
    answer = await bench.ask("GET", PATH, headers=headers)
    assert answer.status == 401


async def test_a_grant_that_was_not_entered_yet_has_no_credentials(bench: Bench) -> None:
    assert bench.proxy.grant(OWNER).kubeconfig == ""


async def test_the_end_of_a_run_cuts_its_open_watch_on_both_sides(bench: Bench) -> None:
    closed = asyncio.Event()
    bench.answer = endless(closed)
    with bench.proxy.grant(OWNER) as grant:
        answer = await bench.session.get(bench.url + PATH + "?watch=1", headers=bench.headers(grant))
        assert await answer.content.readline() == b'{"n":1}\n'
    with pytest.raises(aiohttp.ClientPayloadError):
        await answer.content.read()
    answer.close()
    await asyncio.wait_for(closed.wait(), 5)


async def test_a_client_that_leaves_ends_its_watch_at_the_api_server(bench: Bench) -> None:
    closed = asyncio.Event()
    bench.answer = endless(closed)
    with bench.proxy.grant(OWNER) as grant:
        answer = await bench.session.get(bench.url + PATH + "?watch=1", headers=bench.headers(grant))
        await answer.content.readline()
        answer.close()
        await asyncio.wait_for(closed.wait(), 5)


async def test_the_end_of_one_run_leaves_the_others_connections_alone(bench: Bench) -> None:
    with bench.proxy.grant(OWNER) as first:
        with bench.proxy.grant(OWNER):
            pass
        answer = await bench.ask("GET", PATH, first)
        assert answer.status == 200


async def test_the_fence_refuses_present_and_later_grants(bench: Bench) -> None:
    with bench.proxy.grant(OWNER) as before:
        bench.proxy.refuse_all()
        with bench.proxy.grant(OWNER) as after:
            for grant in (before, after):
                answer = await bench.ask("GET", PATH, grant)
                assert answer.status == 401


async def test_nothing_passes_while_this_process_does_not_lead() -> None:
    leading = True
    async with standin.bench(leading=lambda: leading) as bench:
        with bench.proxy.grant(OWNER) as grant:
            statuses = [(await bench.ask("GET", PATH, grant)).status]
            leading = False
            statuses.append((await bench.ask("POST", PATH[:-2], grant, json={"kind": "ConfigMap"})).status)
    assert (statuses, len(bench.seen)) == ([200, 401], 1)


async def test_a_request_that_is_not_sent_on_yet_is_not_sent_after_the_fence(bench: Bench) -> None:
    """Also if it could go on in the very moment in which the fence falls, over a connection that is there."""
    bench.discovery.may_answer.clear()
    with bench.proxy.grant(OWNER) as grant:
        await bench.ask("GET", PATH, grant)
        late = asyncio.create_task(bench.ask("POST", PATH[:-2], grant, json={"kind": "ConfigMap"}))
        await bench.discovery.asked.wait()
        bench.discovery.may_answer.set()
        bench.proxy.refuse_all()
        with pytest.raises(aiohttp.ClientError):
            await late
    async with bench.client.open("HEAD", "/version", headers={}, data=None) as after:
        assert after.status == 200
    assert [request.method for request in bench.seen] == ["GET", "HEAD"]


async def test_the_proxy_serves_localhost_over_ipv6_too(bench: Bench) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    async with bench.session.get(f"http://[::1]:{bench.proxy.port}/version") as answer:
        assert answer.status == 401


async def test_a_port_of_the_proxy_that_is_in_use_is_named(bench: Bench) -> None:
    second = Proxy(bench.client, FakeDiscovery(), port=bench.proxy.port)
    with pytest.raises(ListenError, match=str(bench.proxy.port)):
        await second.start()


def endless(closed: asyncio.Event) -> Answer:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"n":1}\n')
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            closed.set()
        return response

    return answer


@pytest.mark.parametrize("limit", ["only_dry_runs", "only_reads"])
@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/api/v1/nodes/n/proxy/exec/shop/p/c?command=id", {}),
        ("GET", "/api/v1/namespaces/shop/pods/p/pro%78y/", {}),
        ("GET", "/api/v1/namespaces/shop/pods/..%2f..%2f..%2fnodes/n/proxy", {}),
        ("GET", "/api/v1/nodes/n//proxy/pods", {}),
        ("POST", "/api/v1/namespaces/shop/serviceaccounts/ci/token?dryRun=All", {}),
        (
            "GET",
            "/apis/x.io/v1/namespaces/shop/machines/m/console",
            {"Connection": "Upgrade", "Upgrade": "websocket"},
        ),
    ],
)
async def test_run_that_may_change_nothing_reaches_no_node_no_application_and_no_token(
    bench: Bench, limit: str, method: str, path: str, headers: dict[str, str]
) -> None:
    with bench.proxy.grant(OWNER) as grant:
        getattr(grant, limit)()
        answer = await bench.ask(method, path, headers={**bench.headers(grant), **headers})

    assert (answer.status, bench.seen) == (403, [])
