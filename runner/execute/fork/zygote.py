"""The operator's end of the line to a zygote."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import structlog

from runner.errors import RunError
from runner.execute.fork.inside import wire

_INSIDE = Path(__file__).parent / "inside"
_PACKAGE = "ansible_operator_warm"
_START = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location(
    {_PACKAGE!r}, sys.argv[1] + '/__init__.py', submodule_search_locations=[sys.argv[1]]
)
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
from {_PACKAGE}.server import start
start(sys.argv[2], int(sys.argv[3]))
"""
READY_WITHIN = 120.0
"""Seconds; two are usual."""
ANSWERS_WITHIN = 10.0
"""Seconds; some milliseconds are usual."""
_DIES_WITHIN = 5.0
"""Seconds from SIGKILL on; one that hangs in the kernel takes longer, and is left to itself."""
_log = structlog.get_logger(__name__)


class Zygote:
    """One zygote process. Each question is answered in turn; one that leaves a question unanswered is killed."""

    def __init__(self, process: subprocess.Popen[bytes], pidfd: int, line: socket.socket) -> None:
        self._process = process
        self._line = line
        self._asked: deque[asyncio.Future[wire.Message]] = deque()
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self.ready = self._expect()
        self._loop.add_reader(line, self._on_answer)
        self._loop.add_reader(pidfd, self._on_end, pidfd)

    @classmethod
    def start(cls, kind: str, directory: Path, environment: Mapping[str, str]) -> Zygote:
        """Start a zygote of this kind, in `directory`; `ready` is done when it may be asked. Raises RunError."""
        with ExitStack() as undo:
            try:
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                undo.callback(ours.close)
                with theirs:
                    process = subprocess.Popen(
                        [sys.executable, "-P", "-c", _START, str(_INSIDE), kind, str(theirs.fileno())],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        cwd=directory,
                        env=dict(environment),
                        pass_fds=(theirs.fileno(),),
                    )
                undo.callback(process.wait)
                undo.callback(process.kill)
                pidfd = os.pidfd_open(process.pid)
            except OSError as error:
                raise RunError(f"cannot start the process that runs are forked from: {error}") from error
            undo.pop_all()
        ours.setblocking(False)
        return cls(process, pidfd, ours)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._line.fileno() >= 0 and self._process.poll() is None

    async def ask(
        self, message: wire.Message, descriptors: Sequence[int] = (), within: float = ANSWERS_WITHIN
    ) -> wire.Message:
        """Its answer. Raises RunError when it is gone, or has not answered within so many seconds and was killed.

        Raises OSError, without having asked, when this process cannot open another file.
        """
        try:
            wire.send(self._line, message, descriptors)
        except OSError as error:
            if wire.none_can_be_opened(error):
                raise
            raise RunError(f"the process that runs are forked from does not listen: {error}") from error
        try:
            async with asyncio.timeout(within):
                return await self._expect()
        except TimeoutError as error:
            _log.warning("Killing the process that runs are forked from: it does not answer", pid=self.pid)
            self.kill()
            raise RunError(
                f"the process that runs are forked from has not answered for {within:g} seconds"
            ) from error

    def close(self) -> None:
        """Ask nothing more; it ends when its children have."""
        if self._line.fileno() >= 0:
            self._loop.remove_reader(self._line)
            self._line.close()
        for asked in self._asked:
            if not asked.done():
                asked.set_exception(RunError("the process that runs are forked from has ended"))
                asked.exception()  # whoever asked may have gone
        self._asked.clear()

    def kill(self) -> None:
        """End it at once. What it has forked goes on."""
        self._process.kill()
        self.close()

    async def ended(self, within: float) -> None:
        """Wait until the process is gone, after `close`; for so many seconds, then it is killed."""
        await asyncio.wait({self.gone}, timeout=within)
        if not self.gone.done():
            _log.warning("Killing the process that runs are forked from: it does not end", pid=self.pid)
            self.kill()
            await asyncio.wait({self.gone}, timeout=_DIES_WITHIN)

    def _expect(self) -> asyncio.Future[wire.Message]:
        answer: asyncio.Future[wire.Message] = self._loop.create_future()
        self._asked.append(answer)
        return answer

    def _on_end(self, pidfd: int) -> None:
        self._loop.remove_reader(pidfd)
        os.close(pidfd)
        self._process.wait()
        self.gone.set_result(None)
        for _ in list(self._asked):
            self._on_answer()  # it may have answered before
        self.close()

    def _on_answer(self) -> None:
        with suppress(BlockingIOError):
            try:
                answer = wire.receive(self._line)
            except BlockingIOError:
                raise
            except OSError:
                answer = None
            if answer is None:
                self.close()
                return
            message, descriptors = answer
            for descriptor in descriptors:
                os.close(descriptor)
            asked = self._asked.popleft()
            if not asked.done():
                asked.set_result(message)
