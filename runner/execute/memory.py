"""Keeps the container within its memory: a run waits for room, and the largest ends where none is left.

Else the kernel decides, and in most pods it kills the operator, or all processes of the container with one run.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
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
FASTEST = 4 << 30
"""What a process can take at most, in bytes a second; without huge pages, 2 GiB have been seen."""
LATE = 0.02
"""Seconds that a look may come late on a busy machine: what is used up by then counts as used.

For as many it is looked back, too, to see how fast that is: what is taken in a shorter burst says little.
"""
_INTERVAL, _LEAST_INTERVAL = 0.1, 0.002
_TELLS_CHILDREN = Path("/proc/thread-self/children").exists()
"""Kernels do that are built with CONFIG_PROC_CHILDREN, as those of distributions are."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
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
        growth, relieved = Growth(), True
        try:
            while self._places:
                memory = self._read()
                rate = growth.rate(memory.used, time.monotonic()) if memory else 0.0
                if memory is None or not short(memory, rate):
                    relieved = True
                elif relieved or not any(place.ended.done() for place in self._places):
                    relieved = False  # what has been killed takes a while to give its memory back
                    self._end_largest(memory)
                await asyncio.sleep(interval(memory, rate) if memory else _INTERVAL)
        finally:
            self._watching = None

    def _end_largest(self, memory: Memory) -> None:
        """Not in a thread, for which there is no time: some milliseconds are enough to use up what is left.

        It may be one that is about to end, and still has processes that take more.
        """
        runs = {place: sizes(place.process.pid) for place in self._places if place.process is not None}
        place = max(runs, key=lambda place: sum(runs[place].values()), default=None)
        if place is None:
            return
        if runs[place]:
            _kill(max(runs[place], key=runs[place].__getitem__))
        if not place.ended.done():
            place.ended.set_result(f"{memory.told}, of which this run {mebibytes(sum(runs[place].values()))}")


def fits(memory: Memory, runs: int, at_rest: int) -> bool:
    """Whether one more fits beside so many, which may not use all yet; `at_rest` is what is used without them."""
    used = max(memory.used, min(memory.used, at_rest) + runs * RUN)
    return memory.limit - used - _reserve(memory) >= RUN


@dataclass(slots=True)
class Growth:
    """How fast what is used grows, from look to look."""

    _looks: deque[tuple[float, int]] = field(default_factory=deque)
    """When, and what was used: those of the last LATE seconds, and the one before."""

    def rate(self, used: int, now: float) -> float:
        """Bytes a second in the last LATE seconds, or since the last look if that is longer; 0 at the first."""
        while len(self._looks) > 1 and self._looks[1][0] <= now - LATE:
            self._looks.popleft()
        self._looks.append((now, used))
        began, before = self._looks[0]
        return (used - before) / (now - began) if now > began else 0.0


def short(memory: Memory, rate: float = 0.0) -> bool:
    """Whether a run has to end, while what is used grows by so many bytes a second."""
    return _spare(memory, rate) < 0


def interval(memory: Memory, rate: float = 0.0) -> float:
    """Seconds until another look, after which memory is not short yet, or only just."""
    return min(_INTERVAL, max(_LEAST_INTERVAL, _spare(memory, rate) / FASTEST))


def _spare(memory: Memory, rate: float) -> float:
    """Bytes that may be used before a run has to end, so that a look that is late finds the reserve untouched."""
    return memory.left - _reserve(memory) - max(0.0, rate) * LATE


def sizes(pid: int) -> dict[int, int]:
    """About how many bytes would be free if this process and those below it ended, for each of them.

    What they share with those that they were forked from is taken to be all that the first has, and known at once:
    to find what a process has of its own takes the kernel milliseconds for each hundred megabytes.
    """
    found = {each: _anonymous(each) for each in (pid, *_below(pid))} if pid else {}
    largest = max(found, key=found.__getitem__, default=0)
    return {each: size if each == largest else max(0, size - found[pid]) for each, size in found.items()}


def _below(pid: int) -> list[int]:
    """The processes below that one, without a look at all of /proc, which takes 20 milliseconds on a busy machine.

    The kernel may leave one out while others end; it is there at the next look.
    """
    if not _TELLS_CHILDREN:
        return descendants(pid)
    found = [pid]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):  # it has ended
                found += map(int, children.read_text().split())
    return found[1:]


def _kill(pid: int) -> None:
    """Before the run ends in order, which takes longer than to use up what is left."""
    with suppress(OSError):  # it has ended, or is another user's
        os.kill(pid, signal.SIGKILL)


def _anonymous(pid: int) -> int:
    """With what it shares with the process that it was forked from."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:  # it has ended
        return 0
    return (int(resident) - int(shared)) * _PAGE


def _reserve(memory: Memory) -> int:
    return max(LEAST_RESERVE, int(memory.limit * RESERVE))
