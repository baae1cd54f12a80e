"""Two zygotes that serve the same runs, and how a run is forked from them, or not at all."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import structlog

from runner.errors import RunError, UnsureError
from runner.execute.child import Child, lifeline
from runner.execute.fork.inside import wire
from runner.execute.fork.inside.supervisor import GIVEN_UP, GRACE
from runner.execute.fork.zygote import ANSWERS_WITHIN, READY_WITHIN, Zygote
from runner.execute.stream import Parts

SURE_WITHIN = GRACE + 1
"""Seconds that a run which is not wanted any more may take to end, before what it is forked from is killed."""
ENDED_WITHIN = GRACE + GIVEN_UP + 3
"""Seconds for every process of a run, or below a zygote, to end or be given up."""
_KILLED = 137
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pair:
    """Those that were started with the same static environment, of which `key` is the hash."""

    key: str
    plays: Zygote
    modules: Zygote

    @property
    def alive(self) -> bool:
        return self.plays.alive and self.modules.alive

    async def introduce(self) -> str:
        """Wait until both are ready, and the second was told what it must know of the first; Ansible's version."""
        async with asyncio.timeout(READY_WITHIN):
            ready = await self.plays.ready
            if ready["unfit"]:
                raise RunError(ready["unfit"])
            await self.modules.ready
            await self.modules.ask({"tell": {"places": ready["places"]}}, within=READY_WITHIN)
        return str(ready["version"])

    async def look_after(self, within: float = ANSWERS_WITHIN) -> None:
        """Kill each that does not answer."""
        for zygote in (self.plays, self.modules):
            with suppress(RunError, OSError):  # it has ended; or no file can be opened: then another time
                await zygote.ask({"alive": True}, within=within)

    async def fork(self, message: wire.Message, lock: int, on_end: Callable[[], None]) -> Child | str:
        """A run, or why there is none, which is certain; then this pair is of no use any more.

        Raises RunError when there is none for another reason, UnsureError when it is not certain. When this is
        cancelled, nothing runs either.
        """
        try:
            ends = _Ends.open(on_end)
        except OSError as error:
            raise RunError(f"cannot open what a run needs: {error}") from error
        try:
            with ends.sent:
                refused = await self._ask(message, lock, ends)
        except BaseException as error:
            await self._undo(ends)
            if isinstance(error, OSError):
                raise RunError(f"cannot ask for a run: {error}") from error
            raise
        if refused:
            await self._undo(ends)
            return refused
        await ends.child.read(ends.output)
        return ends.child

    async def _ask(self, message: wire.Message, lock: int, ends: _Ends) -> str:
        """Why there will be no run, else an empty string. Raises OSError."""
        try:
            # one after the other: a host alone does nothing, and ends with its line
            answer = await self.modules.ask({}, [lock, ends.of_host])
            if "pid" in answer:
                answer = await self.plays.ask({**message, "host": answer["pid"]}, [lock, *ends.of_play])
        except RunError as error:
            return str(error)
        ends.child.pid = answer.get("pid", 0)
        return str(answer.get("refused", ""))

    async def _undo(self, ends: _Ends) -> None:
        """See to it that nothing of the run is under way, nor ever will be. Raises UnsureError when that fails."""
        os.close(ends.output)
        ends.child.end()
        if not await _has_ended(ends.child, SURE_WITHIN):
            _log.warning("Killing the process that runs are forked from: it keeps a run that is not wanted")
            self.plays.kill()
            if not await _has_ended(ends.child, ENDED_WITHIN):
                raise UnsureError("nothing was started again: an attempt to start this run cannot be ended")
        ends.child.close()


@dataclass(frozen=True, slots=True)
class _Ends:
    """What connects a run with us and its module host. Who has the copies of what is `sent` may hold the run."""

    child: Child
    output: int
    of_play: list[int]
    of_host: int
    sent: ExitStack

    @classmethod
    def open(cls, on_end: Callable[[], None]) -> _Ends:
        """Raises OSError."""
        with ExitStack() as ours, ExitStack() as theirs:
            asking, asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.callback(asking.close)
            theirs.callback(asked.close)
            watched, line = lifeline(theirs, ours)
            output, written = wire.pipe(ours, theirs)
            status, told = wire.pipe(ours, theirs)
            parts, sent = wire.pipe(ours, theirs)
            ours.pop_all()
            child = Child(0, line)
            child.parts = Parts(parts)
            _tell_of_end(status, child, on_end)
            of_play = [watched, written, told, sent, asking.fileno()]
            return cls(child, output, of_play, asked.fileno(), theirs.pop_all())


def _tell_of_end(status: int, child: Child, on_end: Callable[[], None]) -> None:
    """The supervisor alone holds the other end, on which it writes the exit code last of all."""
    loop = asyncio.get_running_loop()
    said = bytearray()

    def on_status() -> None:
        data = os.read(status, 64)
        said.extend(data)
        if not data:
            loop.remove_reader(status)
            os.close(status)
            child.exited(int(said) if said else _KILLED)
            on_end()

    loop.add_reader(status, on_status)


async def _has_ended(child: Child, within: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            await child.wait()
            return True
    return False
