"""One supervised process: its output as a stream, its end as an awaitable, and one way to end it.

Not asyncio's own subprocess: that waits for the pipes to close before it tells of the end, and takes a thread
for each process.
"""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_BUFFER = 128 * 1024


class Child:
    """A command below the supervisor. stdout and stderr come as one stream, in the order they were written."""

    def __init__(self, process: subprocess.Popen[bytes], lifeline: int) -> None:
        self._process = process
        self._lifeline: int | None = lifeline
        self._exited = asyncio.get_running_loop().create_future()
        self._transport: asyncio.BaseTransport | None = None
        self.output = asyncio.StreamReader(limit=_BUFFER)

    @classmethod
    async def start(
        cls, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], lock: int, until: float = math.inf
    ) -> Child:
        """Start `command` (an absolute path and its arguments); `lock` stays locked until its last process ends.

        It is ended at the moment `until`, in seconds of CLOCK_BOOTTIME, unless `extend` names a later one.
        Raises OSError when not even the supervisor can be started.
        """
        lifeline, held = os.pipe()
        os.set_blocking(held, False)
        try:
            process = subprocess.Popen(  # noqa: ASYNC220  (a few milliseconds, as asyncio's own way)
                [sys.executable, "-I", "-S", str(_SUPERVISOR), str(lifeline), str(lock), str(until), *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                cwd=cwd,
                env=env,
                pass_fds=(lifeline, lock),
            )
        except BaseException:
            os.close(held)
            raise
        finally:
            os.close(lifeline)
        child = cls(process, held)
        try:
            await child._connect()
        except BaseException:
            child.end()
            process.wait()
            raise
        return child

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        pidfd = os.pidfd_open(self._process.pid)
        loop.add_reader(pidfd, self._on_exit, pidfd)
        protocol = asyncio.StreamReaderProtocol(self.output)
        self._transport, _ = await loop.connect_read_pipe(lambda: protocol, self._process.stdout)

    def _on_exit(self, pidfd: int) -> None:
        asyncio.get_running_loop().remove_reader(pidfd)
        os.close(pidfd)
        self._exited.set_result(self._process.wait())
        self.end()

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        return self._process.pid

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
