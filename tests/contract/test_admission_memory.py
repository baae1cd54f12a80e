"""Reviews and conversions of the worst objects take bounded memory and time, in a process of their own."""

from __future__ import annotations

import asyncio
import io
import json
import os
import ssl
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import aiohttp
import pytest

from tests.unit.serve.admission.test_conversionreview import COUNT, Chance

MIB = 1024 * 1024
AT_START = 100
"""MiB that the process may take before the first request."""
PATIENCE = 240.0
ROOT = Path(__file__).parents[2]


def costly(size: int) -> bytes:
    """A spec of so many bytes that takes twenty times as much once it is decoded."""
    return b'{"x": [' + b",".join([b"[]"] * (size // 3)) + b"]}"


def thing(spec: bytes) -> bytes:
    return b'{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":%s}' % spec


def review(size: int) -> bytes:
    request = b'{"uid":"u","operation":"CREATE","userInfo":{},"object":%s}' % thing(costly(size))
    return b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":%s}' % request


def conversion(*objects: bytes) -> bytes:
    request = b'{"uid":"u","desiredAPIVersion":"example.com/v2","objects":[%s]}' % b",".join(objects)
    return b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":%s}' % request


class Server:
    """The process, and a client of it as the API server is one."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, tls: ssl.SSLContext) -> None:
        self._process = process
        self._url = f"https://127.0.0.1:{port}"
        self._tls = tls

    def peak(self) -> int:
        """The most memory that the process has had, in MiB."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024

    def processor_time(self) -> float:
        """The seconds of processor time that the process has taken."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def answers(self, path: str, bodies: Sequence[bytes]) -> list[tuple[int, bytes]]:
        """Status and text of the answers to requests that are sent all at once."""
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            return await asyncio.gather(*(self._answer(session, path, body) for body in bodies))

    async def _answer(self, session: aiohttp.ClientSession, path: str, body: bytes) -> tuple[int, bytes]:
        async with session.post(self._url + path, data=io.BytesIO(body), ssl=self._tls) as answer:
            if answer.status == 429:
                assert answer.headers["Retry-After"] == "1"
            return answer.status, await answer.read()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fixtures.admission_process", str(tmp_path)),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    port = int(await process.stdout.readline())
    server = Server(process, port, ssl.create_default_context(cafile=str(tmp_path / "ca.pem")))
    assert server.peak() < AT_START
    yield server
    process.stdin.close()
    await process.wait()


VALIDATE, CONVERT = "/validate-example-com-v1-thing", "/convert"


async def test_reviews_that_take_too_much_memory_are_refused_before_they_are_decoded(server: Server) -> None:
    found = await server.answers(VALIDATE, [review(29 * MIB // 10)] * 30)
    assert {status for status, _ in found} <= {200, 429}
    for text in (text for status, text in found if status == 200):
        response = json.loads(text)["response"]
        assert (response["uid"], response["allowed"], response["status"]["code"]) == ("u", False, 422)
        assert "too many values: a review of it might take 158 MiB of memory" in response["status"]["message"]
    assert server.peak() < AT_START + 150


async def test_many_large_reviews_have_turns_and_keep_no_small_one_waiting(server: Server) -> None:
    large = asyncio.create_task(server.answers(VALIDATE, [review(MIB)] * 6))
    while not large.done():
        (small,) = await server.answers(VALIDATE, [review(30)])
        assert small[0] == 200
    assert {status for status, _ in large.result()} <= {200, 429}
    assert server.peak() < AT_START + 250


async def test_a_list_of_large_objects_is_converted_one_by_one(server: Server) -> None:
    body = thing(costly(14 * MIB // 10))
    ((status, text),) = await server.answers(CONVERT, [conversion(*[body] * 10)])
    assert status == 200
    assert text.count(b'"apiVersion": "example.com/v2"') == 10
    assert text.endswith(b'], "result": {"status": "Success"}}}')
    assert server.peak() < AT_START + 120


async def test_many_conversions_have_turns(server: Server) -> None:
    found = await server.answers(CONVERT, [conversion(thing(costly(14 * MIB // 10)))] * 5)
    assert [status for status, _ in found] == [200] * 5
    assert server.peak() < AT_START + 120


async def test_a_list_above_64_mib_is_converted(server: Server) -> None:
    body = thing(b'{"size": 1, "x": "%s"}' % (b"x" * MIB))
    ((status, text),) = await server.answers(CONVERT, [conversion(*[body] * 100)])
    assert (status, text.count(b'"n": 1')) == (200, 100)
    assert server.peak() < AT_START + 220


async def test_a_list_that_is_larger_than_the_memory_for_bodies_is_refused(server: Server) -> None:
    ((status, _),) = await server.answers(CONVERT, [b" " * (128 * MIB + 1)])
    assert status == 413


async def test_ten_thousand_odd_objects_take_bounded_memory_and_time(server: Server) -> None:
    chance = Chance()
    objects = [chance.object(number).encode() for number in range(COUNT)]
    started = server.processor_time()
    ((status, text),) = await server.answers(CONVERT, [conversion(*objects)])
    assert (status, text.count(b"example.com/v2")) == (200, COUNT)
    assert server.processor_time() - started < 29
    assert server.peak() < AT_START + 3 * sum(map(len, objects)) // MIB
