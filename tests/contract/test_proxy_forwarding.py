"""What passes the proxy arrives as it was sent."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from tests.contract.standin import OWNER, Bench

PATH = "/api/v1/namespaces/shop/configmaps/c"
MIB = 1024 * 1024


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/pods?labelSelector=a%3Db%2Cc%20in%20%28d%2Ce%29&limit=5",
        "/api/v1/pods?labelSelector=a+b&fieldSelector=x=y,z!=%e4",
        "/api/v1/namespaces/shop/services/http:web:80/proxy/a%2Fb//c/?q=%25&q",
        "/apis/app.example.com/v1/databases/a%3Ab",
        "/version?verbose",
    ],
)
async def test_path_and_query_stay_byte_for_byte(bench: Bench, path: str) -> None:
    with bench.proxy.grant(OWNER) as grant:
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        head += f"Authorization: {bench.headers(grant)['Authorization']}\r\n\r\n"
        await raw_exchange(bench.proxy.port, head.encode())
    assert bench.seen[0].raw_path == path


async def test_only_end_to_end_headers_pass_and_the_credentials_are_the_operators(bench: Bench) -> None:
    headers = {"X-Mine": "1", "X-Hop": "2", "Connection": "X-Hop", "TE": "trailers", "User-Agent": "role/1"}
    with bench.proxy.grant(OWNER) as grant:
        await bench.ask("GET", PATH, grant, headers=headers)
    seen = bench.seen[0].headers
    assert (seen["X-Mine"], seen["User-Agent"]) == ("1", "role/1")
    assert seen.getall("Authorization") == ["Bearer operator"]
    assert not {"X-Hop", "TE"} & set(seen)


async def test_each_connection_header_tells_what_stays_behind(bench: Bench) -> None:
    headers = [("Connection", "X-One"), ("Connection", "X-Two"), ("X-One", "1"), ("X-Two", "2"), ("X-Three", "3")]
    with bench.proxy.grant(OWNER) as grant:
        given = CIMultiDict([*headers, *bench.headers(grant).items()])
        async with bench.session.get(bench.url + PATH, headers=given) as answer:
            assert answer.status == 200
    assert {"X-One", "X-Two", "X-Three"} & set(bench.seen[0].headers) == {"X-Three"}


async def test_headers_that_are_repeated_arrive_repeated_and_in_order(bench: Bench) -> None:
    groups = [("Impersonate-User", "a"), ("Impersonate-Group", "one"), ("Impersonate-Group", "two")]
    with bench.proxy.grant(OWNER) as grant:
        headers = CIMultiDict([*groups, *bench.headers(grant).items()])
        async with bench.session.get(bench.url + PATH, headers=headers) as answer:
            assert answer.status == 200
    assert bench.seen[0].headers.getall("Impersonate-Group") == ["one", "two"]
    assert bench.seen[0].headers.getall("Authorization") == ["Bearer operator"]


@pytest.mark.parametrize("status", [200, 201, 204, 302, 304, 404, 409, 410, 422, 429, 500, 503])
async def test_answers_pass_unchanged(bench: Bench, status: int) -> None:
    body = b"" if status in {204, 304} else b'{"kind": "Status",  "code": 1}\n'

    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        headers = CIMultiDict([("Warning", "299 - a"), ("Warning", "299 - b"), ("Retry-After", "3")])
        return web.Response(status=status, reason="As It Says", body=body, headers=headers)

    bench.answer = answer
    with bench.proxy.grant(OWNER) as grant:
        reply = await bench.ask("GET", PATH, grant, allow_redirects=False)
    assert (reply.status, reply.reason, reply.body) == (status, "As It Says", body)
    assert CIMultiDict(reply.headers).getall("Warning") == ["299 - a", "299 - b"]
    assert reply.headers["Retry-After"] == "3"


async def test_a_head_request_keeps_the_length_of_what_it_does_not_get(bench: Bench) -> None:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(headers={"Content-Length": "1234"})

    bench.answer = answer
    with bench.proxy.grant(OWNER) as grant:
        reply = await bench.ask("HEAD", PATH, grant)
    assert (reply.status, reply.headers["Content-Length"]) == (200, "1234")


async def test_the_first_watch_event_arrives_before_the_second_is_sent(bench: Bench) -> None:
    go_on = asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"type":"ADDED"}\n')
        await go_on.wait()
        await response.write(b'{"type":"DELETED"}\n')
        return response

    bench.answer = answer
    with bench.proxy.grant(OWNER) as grant:
        headers = bench.headers(grant)
        async with bench.session.get(bench.url + "/api/v1/pods?watch=true", headers=headers) as got:
            assert await asyncio.wait_for(got.content.readline(), 5) == b'{"type":"ADDED"}\n'
            go_on.set()
            assert await got.content.readline() == b'{"type":"DELETED"}\n'
            assert await got.content.read() == b""


async def test_a_watch_without_events_shows_its_status_at_once(bench: Bench) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.get_running_loop().create_future()
        return response

    bench.answer = answer
    with bench.proxy.grant(OWNER) as grant:
        got = await asyncio.wait_for(
            bench.session.get(bench.url + "/api/v1/pods?watch=true", headers=bench.headers(grant)), 5
        )
        assert got.status == 200
        got.close()


async def test_a_large_body_passes_both_ways_without_being_held_in_memory(bench: Bench) -> None:
    size, sent, received, held = 50 * MIB, 0, 0, 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal sent, held
        while sent < size:
            sent += MIB
            yield b"x" * MIB
            held = max(held, sent - received)

    async def echo(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        async for part in request.content.iter_any():
            await response.write(part)
        return response

    bench.answer = echo
    path = bench.url + "/api/v1/namespaces/shop/pods/p/proxy/upload"
    with bench.proxy.grant(OWNER) as grant:
        async with bench.session.post(path, data=pieces(), headers=bench.headers(grant)) as got:
            async for part in got.content.iter_any():
                received += len(part)
    assert received == size
    assert held < 20 * MIB  # what the sockets of four hops hold, and the pieces on their way


async def test_a_body_of_known_length_keeps_its_length(bench: Bench) -> None:
    with bench.proxy.grant(OWNER) as grant:
        await bench.ask("PUT", PATH, grant, data=b"y" * 200_000)
    assert (bench.seen[0].headers["Content-Length"], len(bench.bodies[0])) == ("200000", 200_000)


async def test_compressed_bodies_pass_untouched(bench: Bench) -> None:
    packed = gzip.compress(b'{"metadata": {}}')

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        bench.bodies.append(await request.read())
        return web.Response(body=packed, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})

    bench.answer = answer
    with bench.proxy.grant(OWNER) as grant:
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        reply = await bench.ask("POST", PATH[:-2], grant, data=packed, headers=headers)
    assert bench.bodies == [packed]
    assert (reply.body, reply.headers["Content-Encoding"]) == (packed, "gzip")


async def test_a_client_that_waits_to_be_told_to_continue_is_told(bench: Bench) -> None:
    with bench.proxy.grant(OWNER) as grant:
        reply = await bench.ask("PUT", PATH, grant, data=b"{}", expect100=True)
    assert (reply.status, bench.bodies) == (200, [b"{}"])


async def test_an_api_server_that_does_not_answer_is_told_as_a_status_object(bench: Bench) -> None:
    bench.client._base = URL("http://127.0.0.1:1")
    with bench.proxy.grant(OWNER) as grant:
        reply = await bench.ask("GET", PATH, grant)
    status = json.loads(reply.body)
    assert (reply.status, status["kind"], status["code"]) == (502, "Status", 502)
    assert "cannot be reached" in status["message"]


async def test_an_answer_that_breaks_off_does_not_look_complete(bench: Bench) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"half")
        assert request.transport is not None
        request.transport.abort()
        return response

    bench.answer = answer
    with bench.proxy.grant(OWNER) as grant, pytest.raises(aiohttp.ClientPayloadError):
        await bench.ask("GET", "/api/v1/pods", grant)


async def raw_exchange(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer
