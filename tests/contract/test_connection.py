"""Credentials while the disk is stuck: reading them waits for nobody else's threads, and nobody waits long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runner.config.settings import ClusterSettings
from runner.errors import CredentialsError
from runner.kube import connection
from runner.kube.client import Client
from runner.kube.connection import Connection
from runner.kube.credentials import ROTATION, Credentials, find_login
from tests.fixtures.apiserver import ApiServer, Reply, serving
from tests.fixtures.clock import FakeClock
from tests.fixtures.waiting import until

PATH = "/api/v1/namespaces/ns/configmaps/a"


class Disk:
    """Reads credentials with a token that counts the readings; while `stuck`, no reading comes back."""

    def __init__(self, directory: Path, *, good_for: float = float("inf")) -> None:
        self.begun = 0
        self.stuck = threading.Event()
        self.freed = threading.Event()
        self._good_for = good_for
        self._config = directory / "config"

    def read(self) -> Credentials:
        self.begun += 1
        number = self.begun
        if self.stuck.is_set():
            self.freed.wait(60)
        server = ApiServer()
        server.url = "http://127.0.0.1:1"
        info = find_login(
            ClusterSettings(str(server.kubeconfig(self._config, user={"token": f"t{number}"})))
        )().info
        return Credentials(info, fresh_for=ROTATION, good_for=self._good_for)

    def free(self) -> None:
        self.stuck.clear()
        self.freed.set()


@pytest.fixture
def time() -> FakeClock:
    return FakeClock()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path)
    yield disk
    disk.free()


@pytest.fixture
async def blocked_executor() -> AsyncIterator[None]:
    """Every thread of the default executor waits, and more work than it has threads waits behind them."""
    freed = threading.Event()
    executor = ThreadPoolExecutor(2)
    loop = asyncio.get_running_loop()
    loop.set_default_executor(executor)
    waiting = [loop.run_in_executor(None, freed.wait) for _ in range(4)]
    yield
    freed.set()
    await asyncio.gather(*waiting)


def token(found: connection.Endpoint) -> str:
    return found.headers["Authorization"].removeprefix("Bearer ")


@pytest.mark.usefixtures("blocked_executor")
async def test_a_token_is_read_again_though_every_thread_for_disk_work_is_stuck(
    disk: Disk, time: FakeClock
) -> None:
    held = Connection(disk.read, time.clock())
    async with asyncio.timeout(10):
        assert token(await held.current()) == "t1"
        time.advance(ROTATION)
        assert token(await held.current()) == "t2"


@pytest.mark.usefixtures("blocked_executor")
async def test_a_server_is_reached_by_its_name_though_every_thread_for_disk_work_is_stuck(
    time: FakeClock, tmp_path: Path
) -> None:
    async with serving() as server, asyncio.timeout(10):
        server.on("get", PATH, Reply({"a": 1}))
        named = server.url.replace("127.0.0.1", "localhost")
        login = find_login(ClusterSettings(str(server.kubeconfig(tmp_path / "c", cluster={"server": named}))))
        client = await Client.connect(login=login, clock=time.clock())
        assert await client.request("GET", PATH, tries=1) == {"a": 1}
        _, writer = await client.dial()
        writer.close()
        await client.close()


async def test_requests_go_on_with_the_old_token_while_reading_is_stuck(
    disk: Disk, time: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "GRACE", 0.01)
    held = Connection(disk.read, time.clock())
    await held.current()
    disk.stuck.set()
    time.advance(ROTATION)
    async with asyncio.timeout(10):
        assert {token(await held.current()) for _ in range(100)} == {"t1"}
    assert disk.begun == 2


async def test_credentials_whose_reading_was_stuck_are_used_when_they_come_back(
    disk: Disk, time: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "GRACE", 0.01)
    held = Connection(disk.read, time.clock())
    await held.current()
    disk.stuck.set()
    time.advance(ROTATION)
    old = await held.current()
    disk.free()
    async with asyncio.timeout(10):
        assert await held.refused(old)
    assert token(await held.current()) == "t2"


async def test_a_token_that_is_known_to_have_expired_is_waited_for(tmp_path: Path, time: FakeClock) -> None:
    disk = Disk(tmp_path, good_for=ROTATION)
    held = Connection(disk.read, time.clock())
    await held.current()
    disk.stuck.set()
    time.advance(ROTATION)
    asked = asyncio.create_task(held.current())
    await until(lambda: disk.begun == 2)
    disk.free()
    assert token(await asked) == "t2"


async def test_a_reading_that_takes_too_long_is_given_up(
    disk: Disk, time: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "READ_SECONDS", 0.01)
    disk.stuck.set()
    with pytest.raises(CredentialsError, match=r"within 0\.01 s"):
        await Connection(disk.read, time.clock()).current()


async def test_readings_that_never_come_back_do_not_pile_up(
    disk: Disk, time: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "READ_SECONDS", 0.01)
    held = Connection(disk.read, time.clock())
    disk.stuck.set()
    for _ in range(10):
        with pytest.raises(CredentialsError):
            await held.current()
    assert disk.begun == connection.AT_ONCE


async def test_a_reading_that_failed_is_tried_again_soon(time: FakeClock, tmp_path: Path) -> None:
    disk = Disk(tmp_path, good_for=3600.0)
    failing = [False]

    def login() -> Credentials:
        if failing[0]:
            raise CredentialsError("not now")
        return disk.read()

    held = Connection(login, time.clock())
    await held.current()
    time.advance(3600)
    failing[0] = True
    assert token(await held.current()) == "t1"
    failing[0] = False
    time.advance(connection.FORCED_APART)
    assert token(await held.current()) == "t2"


async def test_who_stops_waiting_does_not_stop_the_others(disk: Disk, time: FakeClock) -> None:
    disk.stuck.set()
    held = Connection(disk.read, time.clock())
    first, second = (asyncio.create_task(held.current()) for _ in range(2))
    await until(lambda: disk.begun == 1)
    first.cancel()
    disk.free()
    assert token(await second) == "t1"
    assert disk.begun == 1
