"""Memory for requests is given in turn, and never more than there is."""

from __future__ import annotations

import asyncio
import random
from contextlib import AbstractContextManager

import pytest

from runner.serve.room import NoRoomError, Room

HOUR = 3600.0
SIZE = 6400
LARGE = 3000


async def waiting(room: Room, size: int) -> asyncio.Task[AbstractContextManager[None]]:
    """A request that has asked and waits."""
    task = asyncio.create_task(room.take(size, HOUR))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def test_large_requests_wait_in_order_until_others_have_ended() -> None:
    room = Room(SIZE)
    first = await room.take(LARGE, HOUR)
    second, third = await waiting(room, LARGE), await waiting(room, 200)
    assert not second.done()
    assert not third.done()  # it does not pass the second, though there is room
    with first:
        pass
    with await second, await third:
        pass
    with await room.take(SIZE, 0.0):
        pass


async def test_a_small_request_passes_large_ones_and_always_finds_a_part_of_the_room() -> None:
    room = Room(SIZE)
    with await room.take(SIZE, HOUR):
        large = await waiting(room, LARGE)
        for _ in range(SIZE // 8 // 100):
            await room.take(100, 0.0)
        with pytest.raises(NoRoomError, match="no memory for the request within 0 s"):
            await room.take(100, 0.0)
        assert not large.done()
    await large


async def test_a_request_of_more_than_there_is_is_alone() -> None:
    room = Room(SIZE)
    with await room.take(10 * SIZE, HOUR):
        other = await waiting(room, LARGE)
        assert not other.done()
    await other


async def test_too_many_requests_that_wait_are_refused_at_once() -> None:
    room = Room(SIZE, most_waiting=2)
    with await room.take(SIZE, HOUR):
        others = [await waiting(room, LARGE), await waiting(room, LARGE)]
        with pytest.raises(NoRoomError, match="2 requests wait for memory"):
            await room.take(LARGE, HOUR)
    with await others[0]:
        pass
    await others[1]


async def test_a_request_that_gives_up_leaves_its_turn_to_others() -> None:
    room = Room(SIZE)
    with await room.take(SIZE, HOUR):
        gone, next_ = await waiting(room, LARGE), await waiting(room, LARGE)
        gone.cancel()
    with await next_:
        pass
    with await room.take(SIZE, 0.0):
        pass


async def test_whatever_requests_come_and_go_no_byte_is_lost() -> None:
    room, chance = Room(SIZE), random.Random(20261123)

    async def request() -> None:
        with await room.take(chance.randrange(1, SIZE), chance.choice([0.0, 0.001, HOUR])):
            await asyncio.sleep(chance.choice([0, 0, 0.001]))

    tasks = [asyncio.create_task(request()) for _ in range(200)]
    for task in chance.sample(tasks, 40):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert room._free == SIZE
