"""Keeps the container within its memory: a run waits for room, and the largest ends where none is left.

Else the kernel decides, and in most pods it kills the operator, or all processes of the container with one run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import structlog

from runner.cgroup import Memory, mebibytes
from runner.cgroup import memory as of_container
from runner.execute.fork.inside.supervisor import descendants

RESERVE = 0.05
"""Of the limit, and at least LEAST_RESERVE: a run is ended when less than that is left."""
LEAST_RESERVE = 16 << 20
RUN = 48 << 20
"""What a run is expected to take, in bytes: a warm one with facts has been seen to take 40 MiB."""
_INTERVAL = 0.1
_log = structlog.get_logger(__name__)


class Process(Protocol):
    """What a run is below; its id is 0 while it is not known."""

    pid: int


class Place:
    """One run's: `ended` is done, and says why, when the run has to end."""

    def __init__(self, taken: set[Place]) -> None:
        self.process: Process | None = None
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._taken = taken

    def take(self) -> None:
        self._taken.add(self)

    def close(self) -> None:
        """The run's last process is gone, or it was never started."""
        self._taken.discard(self)


class MemoryGuard:
    """Of all runs of one executor. Without a limit of memory it does nothing.

    A container gets and loses no limit while it lives, so whether there is one is asked once.
    """

    def __init__(self, read: Callable[[], Memory | None] = of_container) -> None:
        self._read = read
        self._limited = read() is not None
        self._places: set[Place] = set()
        self._at_rest = 0
        self._turn = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    def place(self) -> Place:
        """For one run, to be taken before it starts, and closed."""
        return Place(self._places)

    async def take(self, place: Place) -> None:
        """Wait until there is room for one more run, or no other has a place. First come, first served."""
        if not self._limited:
            return
        async with self._turn:
            if not self._has_room():
                _log.info("runs wait for memory", under_way=len(self._places), memory=self._told())
            while not self._has_room():  # noqa: ASYNC110  (the kernel's figures wake nobody)
                await asyncio.sleep(_INTERVAL)
            place.take()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())

    def killed(self) -> str:
        """For people: what the kernel says, where it has killed something of this container."""
        memory = self._read() if self._limited else None
        return memory.told if memory and memory.kills else ""

    def _has_room(self) -> bool:
        memory = self._read()
        if memory is None:
            return True
        if not self._places:
            self._at_rest = memory.used
            return True
        return fits(memory, len(self._places), self._at_rest)

    def _told(self) -> str:
        memory = self._read()
        return memory.told if memory else ""

    async def _watch(self) -> None:
        try:
            while self._places:
                memory = self._read()
                if memory and short(memory) and not any(place.ended.done() for place in self._places):
                    await self._end_largest(memory)
                await asyncio.sleep(_INTERVAL)
        finally:
            self._watching = None

    async def _end_largest(self, memory: Memory) -> None:
        pids = {place: place.process.pid for place in self._places if place.process is not None}
        sizes = await asyncio.to_thread(lambda: {place: size_of(pid) for place, pid in pids.items()})
        place = max(sizes, key=sizes.__getitem__, default=None)
        if place in self._places and place is not None and not place.ended.done():
            place.ended.set_result(f"{memory.told}, of which this run {mebibytes(sizes[place])}")


def fits(memory: Memory, runs: int, at_rest: int) -> bool:
    """Whether one more fits beside so many, which may not use all yet; `at_rest` is what is used without them."""
    used = max(memory.used, min(memory.used, at_rest) + runs * RUN)
    return memory.limit - used - _reserve(memory) >= RUN


def short(memory: Memory) -> bool:
    """Whether a run has to end."""
    return memory.left < _reserve(memory)


def size_of(pid: int) -> int:
    """Bytes that would be free if this process and all below it ended: without what they share with others."""
    return sum(_private(each) for each in (pid, *descendants(pid))) if pid else 0


def _private(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    table: Mapping[str, str] = dict(line.split(":", 1) for line in lines[1:])
    return sum(1024 * int(table[name].split()[0]) for name in ("Private_Clean", "Private_Dirty") if name in table)


def _reserve(memory: Memory) -> int:
    return max(LEAST_RESERVE, int(memory.limit * RESERVE))
