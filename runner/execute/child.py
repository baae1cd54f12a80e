"""One run's processes: their output as a stream, their end as an awaitable, and one way to end them.

Not asyncio's own subprocess: that waits for the pipes to close before it tells of the end, and takes a thread
for each process.
"""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from runner.execute.parts import Parts

_SUPERVISOR = Path(__file__).parent / "warm" / "inside" / "supervisor.py"
_BUFFER = 128 * 1024


class Child:
    """Whatever runs below a supervisor. stdout and stderr come as one stream, in the order they were written."""

    def __init__(self, pid: int, lifeline: int) -> None:
        """`pid` is the supervisor's, `lifeline` our end of the pipe that it watches."""
        self.pid = pid
        self._lifeline: int | None = lifeline
        self._exited = asyncio.get_running_loop().create_future()
        self._transport: asyncio.BaseTransport | None = None
        self.output = asyncio.StreamReader(limit=_BUFFER)
        self.parts: Parts | None = None

    @classmethod
    async def start(
        cls, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], lock: int, until: float = math.inf
    ) -> Child:
        """Start `command` (an absolute path and its arguments); `lock` stays locked until its last process ends.

        It is ended at the moment `until`, in seconds of CLOCK_BOOTTIME, unless `extend` names a later one.
        Raises OSError when not even the supervisor can be started.
        """
        theirs, ours = lifeline()
        output, written = os.pipe()
        try:
            process = subprocess.Popen(  # noqa: ASYNC220  (a few milliseconds, as asyncio's own way)
                [sys.executable, "-I", "-S", str(_SUPERVISOR), str(theirs), str(lock), str(until), *command],
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                cwd=cwd,
                env=env,
                pass_fds=(theirs, lock),
            )
        except BaseException:
            os.close(ours)
            os.close(output)
            raise
        finally:
            os.close(theirs)
            os.close(written)
        child = cls(process.pid, ours)
        _tell_of_end(process, child.exited)
        await child.read(output)
        return child

    async def read(self, output: int) -> None:
        """Make `output` of what can be read from this descriptor, which is ours from now on."""
        protocol = asyncio.StreamReaderProtocol(self.output)
        file = os.fdopen(output, "rb", buffering=0)
        self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, file)

    def exited(self, code: int) -> None:
        """Its supervisor has ended, and with it every process."""
        if not self._exited.done():
            self._exited.set_result(code)
        self.end()

    def end(self) -> None:
        """Ask for the end of every process of the run; `wait` returns when they are gone. May be called again."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def extend(self, until: float) -> None:
        """Let it live until that moment. One that is ended, or about to be, is not brought back."""
        if self._lifeline is not None:
            with suppress(BrokenPipeError, BlockingIOError):
                os.write(self._lifeline, f"{until}\n".encode())

    async def wait(self) -> int:
        """The exit code, once every process of the run is gone."""
        return int(await asyncio.shield(self._exited))

    def close(self) -> None:
        """Stop reading, for after `wait`, when somebody who outlived a killed supervisor still holds the pipe."""
        if self._transport is not None:
            self._transport.close()
        if self.parts is not None:
            self.parts.close()


def lifeline() -> tuple[int, int]:
    """The supervisor's end, and ours."""
    theirs, ours = os.pipe()
    os.set_blocking(ours, False)
    return theirs, ours


def _tell_of_end(process: subprocess.Popen[bytes], exited: Callable[[int], None]) -> None:
    loop = asyncio.get_running_loop()
    pidfd = os.pidfd_open(process.pid)

    def on_exit() -> None:
        loop.remove_reader(pidfd)
        os.close(pidfd)
        exited(process.wait())

    loop.add_reader(pidfd, on_exit)
