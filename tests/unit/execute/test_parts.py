"""Parts of events that come through a pipe: each is there when its output is read, whatever its size."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from runner.execute.fork.inside.wire import HEAD
from runner.execute.stream import Parts


@pytest.fixture
def ends() -> tuple[int, int]:
    return os.pipe()


@pytest.fixture
async def parts(ends: tuple[int, int]) -> AsyncIterator[Parts]:
    made = Parts(ends[0])
    yield made
    made.close()
    with suppress(OSError):
        os.close(ends[1])


def framed(part: dict[str, Any]) -> bytes:
    data = json.dumps(part).encode()
    return HEAD.pack(len(data)) + data


async def test_a_part_of_an_event_is_given_out_once(parts: Parts, ends: tuple[int, int]) -> None:
    os.write(ends[1], framed({"uuid": "a", "event": "x"}))

    assert parts.take("a") == {"uuid": "a", "event": "x"}
    assert parts.take("a") is None


async def test_parts_may_be_asked_for_in_any_order(parts: Parts, ends: tuple[int, int]) -> None:
    os.write(ends[1], framed({"uuid": "a"}) + framed({"uuid": "b"}))

    assert parts.take("b") == {"uuid": "b"}
    assert parts.take("a") == {"uuid": "a"}


async def test_a_part_that_comes_again_is_given_out_again(parts: Parts, ends: tuple[int, int]) -> None:
    """As those of a handler do, whose events have its task's uuid."""
    os.write(ends[1], framed({"uuid": "a", "event": "x"}) + framed({"uuid": "a", "event": "y"}))

    taken = [parts.take("a"), parts.take("a"), parts.take("a")]
    assert taken == [{"uuid": "a", "event": "x"}, {"uuid": "a", "event": "y"}, None]


@pytest.mark.parametrize("data", [b"{", b"[]", b"7", b"{}", b'{"uuid": {}}', b"[" * 100_000, b"\xff"], ids=repr)
async def test_data_that_is_no_part_does_not_keep_the_next_from_coming(
    parts: Parts, ends: tuple[int, int], data: bytes
) -> None:
    sender = threading.Thread(
        target=write_all, args=(ends[1], HEAD.pack(len(data)) + data + framed({"uuid": "a"}))
    )
    sender.start()
    await asyncio.to_thread(sender.join, 10)

    assert parts.take("a") == {"uuid": "a"}


async def test_output_that_belongs_to_no_event_has_no_part(parts: Parts) -> None:
    assert parts.take("nothing came") is None


async def test_half_a_part_waits_for_the_rest(parts: Parts, ends: tuple[int, int]) -> None:
    whole = framed({"uuid": "a", "event": "x" * 100})
    os.write(ends[1], whole[:50])
    assert parts.take("a") is None

    os.write(ends[1], whole[50:])
    assert parts.take("a") is not None


async def test_a_part_that_is_larger_than_a_pipe_comes_while_nobody_asks(
    parts: Parts, ends: tuple[int, int]
) -> None:
    """Its sender would wait for ever otherwise."""
    large = {"uuid": "a", "event": "ü" * 2**20}
    sender = threading.Thread(target=write_all, args=(ends[1], framed(large)))
    sender.start()
    await asyncio.to_thread(sender.join, 10)

    assert parts.take("a") == large


async def test_parts_that_came_outlast_the_end_of_the_pipe(parts: Parts, ends: tuple[int, int]) -> None:
    os.write(ends[1], framed({"uuid": "a"}))
    os.close(ends[1])

    assert parts.take("b") is None
    assert parts.take("a") == {"uuid": "a"}


def write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
