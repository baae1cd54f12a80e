"""Connections that send nothing, or a byte now and then, keep nobody out and do not stay."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest
from aiohttp import web

from runner.serve.certificates import ServingCertificate
from runner.serve.connections import Limits
from runner.serve.metrics import Listener
from tests.fixtures.waiting import until

SOON = 0.2
HOUR = 3600.0
Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Serving:
    """A listener whose only handler waits for `go`."""

    def __init__(self, limits: Limits, tls: ServingCertificate | None = None) -> None:
        self.go = asyncio.Event()
        self.go.set()
        self.entered = False
        self._clients: list[Client] = []
        application = web.Application()
        application.router.add_get("/", self._answer)
        self._certificate = tls
        self.listener = Listener("127.0.0.1:0", application, "--port", tls.context if tls else None, limits=limits)

    async def _answer(self, _: web.Request) -> web.Response:
        self.entered = True
        await self.go.wait()
        return web.Response(text="here")

    async def connected(self, *, handshake: bool = True) -> Client:
        """A connection; without its handshake, the first byte of which never comes."""
        tls = self._certificate
        context = ssl.create_default_context(cadata=tls.authority.decode()) if tls and handshake else None
        client = await asyncio.open_connection("127.0.0.1", self.listener.port, ssl=context)
        self._clients.append(client)
        return client

    async def stop(self) -> None:
        await self.listener.stop()
        for _, writer in self._clients:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def asked(self, client: Client) -> bytes:
        """The status line of the answer to a request."""
        client[1].write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        return await line(client)


async def line(client: Client) -> bytes:
    status = await client[0].readline()
    while status and (await client[0].readline()).strip():
        pass
    if status:
        await client[0].readexactly(len("here"))
    return status


async def ended(client: Client) -> bool:
    """Wait until the other side has closed the connection."""
    try:
        return await client[0].read() == b""
    except ConnectionError:
        return True


Serve = Callable[..., Awaitable[Serving]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    stack: list[Serving] = []

    async def start(tls: ServingCertificate | None = None, **limits: float) -> Serving:
        serving = Serving(Limits(**{"connections": 100, "head": HOUR, "idle": HOUR} | limits), tls)  # type: ignore[arg-type]
        await serving.listener.start()
        stack.append(serving)
        return serving

    yield start
    for serving in stack:
        await serving.stop()


async def test_a_connection_that_sends_nothing_is_closed(serve: Serve) -> None:
    assert await ended(await (await serve(head=SOON)).connected())


async def test_a_connection_that_sends_its_request_byte_by_byte_is_closed(serve: Serve) -> None:
    serving = await serve(head=SOON)
    reader, writer = await serving.connected()

    async def trickle() -> None:
        writer.write(b"GET / HTTP/1.1\r\nHost: ")
        while True:
            writer.write(b"x")
            await asyncio.sleep(SOON / 10)

    trickling = asyncio.create_task(trickle())
    assert await ended((reader, writer))
    trickling.cancel()


async def test_a_second_request_that_does_not_come_to_its_end_is_closed(serve: Serve) -> None:
    serving = await serve(head=SOON)
    client = await serving.connected()
    assert await serving.asked(client) == b"HTTP/1.1 200 OK\r\n"
    client[1].write(b"GET / HT")
    assert await ended(client)


async def test_a_handshake_that_does_not_come_to_its_end_is_closed(serve: Serve) -> None:
    serving = await serve(ServingCertificate("tests"), head=SOON)
    assert await ended(await serving.connected(handshake=False))
    await until(lambda: len(serving.listener.connections) == 0)


async def test_an_idle_connection_is_closed_by_a_limit_of_its_own(serve: Serve) -> None:
    serving = await serve(head=SOON, idle=2 * SOON)
    client = await serving.connected()
    await serving.asked(client)
    assert await ended(client)


async def test_an_answer_may_take_longer_than_a_request(serve: Serve) -> None:
    serving = await serve(head=SOON, idle=SOON)
    serving.go.clear()
    client = await serving.connected()
    asking = asyncio.create_task(serving.asked(client))
    assert await ended(await serving.connected())  # by then the time for a request is over
    assert await ended(await serving.connected())
    serving.go.set()
    assert await asking == b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("tls", [False, True])
async def test_many_half_open_connections_keep_nobody_out(serve: Serve, tls: bool) -> None:
    serving = await serve(ServingCertificate("tests") if tls else None, connections=10)
    used = await serving.connected()
    await serving.asked(used)
    half = [await serving.connected(handshake=False) for _ in range(50)]
    assert await serving.asked(await serving.connected()) == b"HTTP/1.1 200 OK\r\n"
    assert len(serving.listener.connections) <= 10
    assert await serving.asked(used) == b"HTTP/1.1 200 OK\r\n"  # it goes last
    for client in half[:40]:
        assert await ended(client)


async def test_above_the_limit_the_connection_that_is_idle_for_longest_is_closed(serve: Serve) -> None:
    serving = await serve(connections=2)
    first, second = await serving.connected(), await serving.connected()
    await serving.asked(first)
    await serving.asked(second)
    assert await serving.asked(await serving.connected()) == b"HTTP/1.1 200 OK\r\n"
    assert await ended(first)
    assert await serving.asked(second) == b"HTTP/1.1 200 OK\r\n"


async def test_a_request_that_is_being_answered_is_never_closed_in_favour_of_another(serve: Serve) -> None:
    serving = await serve(connections=1)
    serving.go.clear()
    asking = asyncio.create_task(serving.asked(await serving.connected()))
    await until(lambda: serving.entered)
    waiting = asyncio.create_task(serving.asked(await serving.connected()))
    assert len(serving.listener.connections) == 1
    serving.go.set()
    assert await asking == b"HTTP/1.1 200 OK\r\n"
    assert await waiting == b"HTTP/1.1 200 OK\r\n"


async def test_a_listener_that_stops_closes_every_connection(serve: Serve) -> None:
    serving = await serve()
    client = await serving.connected()
    await serving.listener.stop()
    assert await ended(client)
    with pytest.raises(ConnectionRefusedError):
        await serving.connected()
