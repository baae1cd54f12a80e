"""Once the fence is shut nothing reaches the API server: no request, no rest of one, no open stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runner.config.settings import ClusterSettings
from runner.errors import LeadershipLostError
from runner.kube.client import Client
from runner.kube.sockets import Fence
from tests.fixtures.clock import START, FakeClock
from tests.fixtures.waiting import until

END = START + 10


class Server:
    """Takes whatever comes and answers nothing."""

    def __init__(self) -> None:
        self.received = b""
        self.url = ""
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        try:
            while data := await reader.read(1024):
                self.received += data
        except ConnectionError:
            pass
        finally:
            writer.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fence(clock: FakeClock) -> Fence:
    fence = Fence(clock.time)
    fence.open_until(END)
    return fence


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    it = Server()
    listening = await asyncio.start_server(it.serve, "127.0.0.1", 0)
    it.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield it
    listening.close()
    await listening.wait_closed()


@pytest.fixture
async def client(server: Server, fence: Fence, tmp_path: Path) -> AsyncIterator[Client]:
    config = tmp_path / "config"
    body = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {}}],
    }
    config.write_text(json.dumps(body))
    client = await Client.connect(ClusterSettings(str(config)), fence=fence)
    yield client
    await client.close()


def test_a_fence_is_open_for_ever_until_it_is_told_a_time(clock: FakeClock) -> None:
    fence = Fence(clock.time)
    clock.now = 1e9
    assert not fence.shut


@pytest.mark.parametrize(("moment", "shut"), [(END - 0.001, False), (END, True), (END + 1e6, True)])
def test_a_fence_is_shut_from_its_moment_on_by_nothing_but_the_time(
    fence: Fence, clock: FakeClock, moment: float, shut: bool
) -> None:
    clock.now = moment
    assert fence.shut is shut


def test_a_fence_that_was_shut_stays_shut(fence: Fence) -> None:
    fence.close()
    fence.open_until(END + 100)
    assert fence.shut


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_behind_a_shut_fence_no_request_goes_out(
    client: Client, server: Server, clock: FakeClock, method: str
) -> None:
    clock.now = END
    with pytest.raises(LeadershipLostError):
        await client.request(method, "/api/v1/namespaces")
    assert server.received == b""


async def test_behind_a_shut_fence_no_connection_for_an_upgrade_is_made(client: Client, clock: FakeClock) -> None:
    clock.now = END
    with pytest.raises(LeadershipLostError):
        await client.dial()


async def test_behind_a_shut_fence_the_rest_of_a_body_does_not_go_out(
    client: Client, server: Server, clock: FakeClock
) -> None:
    more = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield b"first half"
        await more.wait()
        yield b"second half"

    async def write() -> None:
        async with client.open("POST", "/api/v1/namespaces/ns/configmaps", data=body()):
            raise AssertionError("there is no answer")

    writing = asyncio.create_task(write())
    await until(lambda: b"first half" in server.received)
    clock.now = END
    more.set()
    with pytest.raises(LeadershipLostError):
        await writing
    assert b"second half" not in server.received


async def test_behind_a_shut_fence_an_open_stream_carries_nothing_more(
    client: Client, server: Server, clock: FakeClock
) -> None:
    _, writer = await client.dial()
    writer.write(b"before")
    await until(lambda: server.received == b"before")
    clock.now = END
    writer.write(b"after")
    with pytest.raises(ConnectionAbortedError):
        await writer.wait_closed()
    assert server.received == b"before"
