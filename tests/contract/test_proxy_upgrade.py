"""exec, attach and port-forward pass the proxy as raw bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from yarl import URL

from tests.contract.standin import OWNER, Bench

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n"
REFUSAL = b'{"kind":"Status","code":404}'


@dataclass
class Kubelet:
    """The far end of an upgrade: answers with `answer`, then echoes."""

    answer: bytes = SWITCH + b"hello"
    head: bytes = b""
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = await reader.readuntil(b"\r\n\r\n")
        writer.write(self.answer)
        while data := await reader.read(65536):
            writer.write(data.upper())
            await writer.drain()
        writer.close()
        self.gone.set()


@asynccontextmanager
async def upgraded(bench: Bench, kubelet: Kubelet, protocol: str = "SPDY/3.1") -> AsyncIterator[Streams]:
    server = await asyncio.start_server(kubelet, "127.0.0.1", 0)
    bench.client._base = URL(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/prefix")
    with bench.proxy.grant(OWNER) as grant:
        reader, writer = await asyncio.open_connection("127.0.0.1", bench.proxy.port)
        head = "POST /api/v1/namespaces/shop/pods/p/exec?command=a%20b HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Authorization: {bench.headers(grant)['Authorization']}\r\nX-Stream-Protocol-Version: v4\r\n"
        head += f"Connection: Upgrade\r\nUpgrade: {protocol}\r\nContent-Length: 0\r\n\r\n"
        writer.write(head.encode())
        yield reader, writer
    writer.close()
    server.close()
    await server.wait_closed()


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.mark.parametrize("protocol", ["SPDY/3.1", "websocket"])
async def test_bytes_pass_both_ways_after_the_switch(bench: Bench, protocol: str) -> None:
    async with upgraded(bench, Kubelet(), protocol) as (reader, writer):
        assert await reader.readexactly(len(SWITCH) + 5) == SWITCH + b"hello"
        writer.write(b"abc" * 100_000)
        assert await asyncio.wait_for(reader.readexactly(300_000), 5) == b"ABC" * 100_000


async def test_the_api_server_sees_its_own_path_and_the_operators_credentials(bench: Bench) -> None:
    kubelet = Kubelet()
    async with upgraded(bench, kubelet) as (reader, _):
        await reader.readuntil(b"hello")
    head = kubelet.head.decode()
    assert head.startswith("POST /prefix/api/v1/namespaces/shop/pods/p/exec?command=a%20b HTTP/1.1\r\n")
    assert head.count("Authorization:") == 1
    assert "Authorization: Bearer operator\r\n" in head
    assert "Upgrade: SPDY/3.1\r\n" in head
    assert "X-Stream-Protocol-Version: v4\r\n" in head


async def test_a_client_that_leaves_ends_the_upstream_connection(bench: Bench) -> None:
    kubelet = Kubelet()
    async with upgraded(bench, kubelet) as (reader, writer):
        await reader.readuntil(b"hello")
        writer.close()
        await asyncio.wait_for(kubelet.gone.wait(), 5)


async def test_the_end_of_the_run_cuts_an_upgraded_connection(bench: Bench) -> None:
    kubelet = Kubelet()
    async with upgraded(bench, kubelet) as (reader, _):
        await reader.readuntil(b"hello")
        bench.proxy.refuse_all()
        assert await asyncio.wait_for(reader.read(), 5) == b""
        await asyncio.wait_for(kubelet.gone.wait(), 5)


@pytest.mark.parametrize(
    "framed",
    [
        b"Content-Length: 28\r\n\r\n" + REFUSAL,
        b"Transfer-Encoding: chunked\r\n\r\n1c\r\n" + REFUSAL + b"\r\n0\r\n\r\n",
    ],
)
async def test_a_refused_upgrade_passes_as_an_ordinary_answer(bench: Bench, framed: bytes) -> None:
    """And the connection stays the proxy's: what follows on it is checked again."""
    kubelet = Kubelet(answer=b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n" + framed)
    async with upgraded(bench, kubelet) as (reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 404 Not Found\r\n")
        assert await reader.readexactly(len(REFUSAL)) == REFUSAL
        writer.write(b"GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer operator\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 401")


async def test_an_upgrade_without_an_answer_is_a_bad_gateway(bench: Bench) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with upgraded(bench, silent) as (reader, _):  # type: ignore[arg-type]  # any peer will do
        assert (await reader.readline()).startswith(b"HTTP/1.1 502")
