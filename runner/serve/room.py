"""Bounds the memory that requests take together: a request that finds no room waits in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from runner.errors import OperatorError


class NoRoomError(OperatorError):
    """The memory for requests is in use, and no turn came in time."""


class Room:
    """So many bytes for all requests. One that needs more than there are gets as many as a large one may have.

    Large requests have their turns in order. A small one passes them, and a part of the room is for small ones, so
    that large ones keep nobody else waiting.
    """

    def __init__(self, size: int, *, most_waiting: int = 256) -> None:
        self._free = size
        self._small = size // 64
        self._for_small = size // 8
        self._largest = size - self._for_small
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._most_waiting = most_waiting

    async def take(self, size: int, within: float) -> AbstractContextManager[None]:
        """Wait for so many bytes, which the context holds until its end.

        Raises NoRoomError where too many wait, or after `within` seconds.
        """
        size = min(size, self._largest)
        if len(self._waiting) >= self._most_waiting:
            raise NoRoomError(f"{len(self._waiting)} requests wait for memory")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[turn] = size
        self._give_turns()
        try:
            async with asyncio.timeout(within):
                await turn
        except BaseException as error:
            if self._waiting.pop(turn, None) is None:  # the turn came together with the end of the waiting
                self._free += size
            self._give_turns()
            if isinstance(error, TimeoutError):
                raise NoRoomError(f"no memory for the request within {within:g} s") from None
            raise
        return self._held(size)

    @contextmanager
    def _held(self, size: int) -> Iterator[None]:
        try:
            yield
        finally:
            self._free += size
            self._give_turns()

    def _give_turns(self) -> None:
        large_waits = False
        for turn, size in list(self._waiting.items()):
            small = size <= self._small
            if size <= self._free - (0 if small else self._for_small) and (small or not large_waits):
                del self._waiting[turn]
                self._free -= size
                if not turn.cancelled():
                    turn.set_result(None)
            else:
                large_waits |= not small
