"""One run's processes: their output as a stream, their end as an awaitable, and one way to end them.

Not asyncio's own subprocess: that waits for the pipes to close before it tells of the end, and takes a thread
for each process.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import structlog

from runner.execute.fork.inside.supervisor import GIVEN_UP, GRACE, descendants
from runner.execute.fork.inside.wire import pipe
from runner.execute.stream import Parts

_SUPERVISOR = Path(__file__).parent / "fork" / "inside" / "supervisor.py"
_BUFFER = 128 * 1024
_END_WITHIN = 2 * (GRACE + GIVEN_UP) + 5
"""Seconds that a supervisor may take: it waits for a host that may take half of it, too."""
_log = structlog.get_logger(__name__)


class Child:
    """Whatever runs below a supervisor. stdout and stderr come as one stream, in the order they were written."""

    def __init__(self, pid: int, lifeline: int) -> None:
        """`pid` is the supervisor's, 0 while it is not known; `lifeline` our end of the pipe that it watches."""
        self.pid = pid
        self._lifeline: int | None = lifeline
        self._exited = asyncio.get_running_loop().create_future()
        self._transport: asyncio.BaseTransport | None = None
        self._last_resort: asyncio.TimerHandle | None = None
        self.output = asyncio.StreamReader(limit=_BUFFER)
        self.parts: Parts | None = None

    @classmethod
    async def start(
        cls, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], lock: int, until: float = math.inf
    ) -> Child:
        """Start `command` (an absolute path and its arguments); `lock` stays locked until its last process ends.

        It is ended at the moment `until`, in seconds of CLOCK_BOOTTIME, unless `extend` names a later one.
        Raises OSError when not even the supervisor can be started. Nothing runs then, nor when this is cancelled.
        """
        with ExitStack() as ours:
            with ExitStack() as theirs:
                watched, line = lifeline(theirs, ours)
                output, written = pipe(ours, theirs)
                process = subprocess.Popen(  # noqa: ASYNC220  (a few milliseconds, as asyncio's own way)
                    [sys.executable, "-I", "-S", str(_SUPERVISOR), str(watched), str(lock), str(until), *command],
                    stdin=subprocess.DEVNULL,
                    stdout=written,
                    stderr=written,
                    cwd=cwd,
                    env=env,
                    pass_fds=(watched, lock),
                    start_new_session=True,  # Ctrl-C is for the operator alone
                )
            try:
                pidfd = os.pidfd_open(process.pid)
            except OSError:
                ours.close()  # which ends it
                await asyncio.to_thread(process.wait)
                raise
            ours.pop_all()
        child = cls(process.pid, line)
        _tell_of_end(pidfd, process, child.exited)
        await child.read(output)
        return child

    async def read(self, output: int) -> None:
        """Make `output` of what can be read from this descriptor, which is ours from now on.

        Where that cannot be done, or is cancelled, everything is ended first.
        """
        protocol = asyncio.StreamReaderProtocol(self.output)
        file = os.fdopen(output, "rb", buffering=0)
        try:
            self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, file)
        except BaseException:
            file.close()
            self.end()
            await self.wait()
            self.close()
            raise

    def exited(self, code: int) -> None:
        """Its supervisor has ended, and with it every process."""
        if not self._exited.done():
            self._exited.set_result(code)
        if self._last_resort is not None:
            self._last_resort.cancel()
        self.end()

    def end(self) -> None:
        """Ask for the end of every process of the run; `wait` returns when they are gone. May be called again."""
        if self._lifeline is None:
            return
        os.close(self._lifeline)
        self._lifeline = None
        if not self._exited.done():
            self._last_resort = asyncio.get_running_loop().call_later(_END_WITHIN, self._kill)

    def _kill(self) -> None:
        """The supervisor does not answer: without it, then."""
        if not self.pid:
            return
        _log.warning("a supervisor of a run does not answer; killing it and what it has started", pid=self.pid)
        for pid in (*descendants(self.pid), self.pid):
            with suppress(OSError):  # it has ended, or is another user's
                os.kill(pid, signal.SIGKILL)

    def extend(self, until: float) -> None:
        """Let it live until that moment. One that is ended, or about to be, is not brought back."""
        if self._lifeline is not None:
            with suppress(BrokenPipeError, BlockingIOError):
                os.write(self._lifeline, f"{until}\n".encode())

    async def wait(self) -> int:
        """The exit code, once every process of the run is gone."""
        return int(await asyncio.shield(self._exited))

    async def ends_within(self, seconds: float) -> bool:
        """Whether it is gone in so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wait()
                return True
        return False

    def close(self) -> None:
        """Stop reading, for after `wait`, when somebody who outlived a killed supervisor still holds the pipe."""
        if self._transport is not None:
            self._transport.close()
        if self.parts is not None:
            self.parts.close()


class Said:
    """What a process of ours writes to its stderr, a record a line: read until its last child is gone, too."""

    def __init__(self, descriptor: int, pid: int) -> None:
        """`descriptor` is ours from now on."""
        os.set_blocking(descriptor, False)
        self._descriptor: int | None = descriptor
        self._pid = pid
        self._begun = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self.read)

    def read(self) -> None:
        """Take what is there by now."""
        with suppress(BlockingIOError):
            while self._descriptor is not None:
                chunk = os.read(self._descriptor, _BUFFER)
                *lines, self._begun = (self._begun + chunk).split(b"\n")
                if not chunk or len(self._begun) > _BUFFER:
                    lines, self._begun = [*lines, self._begun], b""
                for line in filter(None, lines):
                    _log.warning(
                        line.decode(errors="replace"), said_by="a process that runs are forked from", pid=self._pid
                    )
                if not chunk:
                    self._loop.remove_reader(self._descriptor)
                    os.close(self._descriptor)
                    self._descriptor = None


def lifeline(theirs: ExitStack, ours: ExitStack) -> tuple[int, int]:
    """The supervisor's end, and ours. Raises OSError."""
    watched, line = pipe(theirs, ours)
    os.set_blocking(line, False)
    return watched, line


def _tell_of_end(pidfd: int, process: subprocess.Popen[bytes], exited: Callable[[int], None]) -> None:
    loop = asyncio.get_running_loop()

    def on_exit() -> None:
        loop.remove_reader(pidfd)
        os.close(pidfd)
        exited(process.wait())

    loop.add_reader(pidfd, on_exit)
