"""Reads the bodies of reviews and conversions, and bounds the memory that all of them take together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import hdrs, web

from runner.serve.connections import arrived
from runner.serve.room import NoRoomError, Room

MIB = 1024 * 1024
LARGEST = 8 * MIB
"""Bytes of a review: object and old object, each of which etcd keeps far smaller."""
LARGEST_LIST = 128 * MIB
"""Bytes of a conversion, which may be of a whole list."""
BODIES = LARGEST_LIST
"""Bytes of all bodies: a review's until it is decoded, a conversion's until it is answered."""
DECODED = 128 * MIB
"""Bytes that reviews may take once they are decoded, all of them together, until they are answered."""
READ_WITHIN = 5.0
"""Seconds that a body may take to come."""
REVIEW_WAITS, CONVERSION_WAITS = 2.0, 10.0
"""Seconds until a turn comes; the API server waits 10 for a review and 30 for a conversion."""
_AGAIN_AFTER = "1"
"""Seconds after which the API server sends a request again that was answered with 429, by itself."""
_WEIGHTS = ((b"{", 232), (b"[", 88), (b",", 64), (b":", 64))
"""Bytes that decoded JSON takes at most for each of these marks."""
_WIDEST = 4
"""Bytes that a byte of text takes at most."""


@dataclass(frozen=True, slots=True)
class Rooms:
    """The memory for all requests."""

    bodies: Room = field(default_factory=lambda: Room(BODIES))
    decoded: Room = field(default_factory=lambda: Room(DECODED))


@asynccontextmanager
async def turn(room: Room, size: int, within: float) -> AsyncIterator[None]:
    """Hold memory of the room; answers 429 where none is free in time."""
    try:
        holding = await room.take(size, within)
    except NoRoomError as error:
        raise web.HTTPTooManyRequests(text=f"{error}\n", headers={"Retry-After": _AGAIN_AFTER}) from None
    with holding:
        yield


@asynccontextmanager
async def body(request: web.Request, room: Room, largest: int, within: float) -> AsyncIterator[bytearray]:
    """Read a body, and hold its memory. Answers 413 for one that is too large, 408 for one that comes too late."""
    size = request.content_length
    if size is None or hdrs.CONTENT_ENCODING in request.headers:
        size = largest
    if size > largest:
        raise web.HTTPRequestEntityTooLarge(largest, size)
    async with turn(room, size, within):
        text = bytearray()
        try:
            async with asyncio.timeout(READ_WITHIN):
                async for chunk in request.content.iter_any():
                    text += chunk
                    if len(text) > largest:
                        raise web.HTTPRequestEntityTooLarge(largest, len(text))
        except TimeoutError:
            raise web.HTTPRequestTimeout(text=f"the review did not come within {READ_WITHIN:g} s\n") from None
        arrived(request)
        yield text


def decoded_size(text: bytearray) -> int:
    """The most bytes that this JSON takes once it is decoded, with what a review makes of it."""
    return _WIDEST * len(text) + sum(text.count(mark) * weight for mark, weight in _WEIGHTS)
