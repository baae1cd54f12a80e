"""The operator's end of the line to a zygote."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from runner.errors import RunError
from runner.execute.warm.inside import wire

_INSIDE = Path(__file__).parent / "inside"
_PACKAGE = "ansible_operator_warm"
_START = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location(
    {_PACKAGE!r}, sys.argv[1] + '/__init__.py', submodule_search_locations=[sys.argv[1]]
)
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
from {_PACKAGE}.start import start
start(sys.argv[2], int(sys.argv[3]))
"""
READY_WITHIN = 120.0
"""Seconds; two are usual."""


class Zygote:
    """One zygote process. Each question is answered in turn."""

    def __init__(self, process: subprocess.Popen[bytes], line: socket.socket) -> None:
        self._process = process
        self._line = line
        self._asked: deque[asyncio.Future[wire.Message]] = deque()
        self.ready = self._expect()
        asyncio.get_running_loop().add_reader(line, self._on_answer)

    @classmethod
    def start(cls, kind: str, directory: Path, environment: Mapping[str, str]) -> Zygote:
        """Start a zygote of this kind, in `directory`; `ready` is done when it may be asked. Raises RunError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", _START, str(_INSIDE), kind, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=directory,
                env=dict(environment),
                pass_fds=(theirs.fileno(),),
            )
        except OSError as error:
            ours.close()
            raise RunError(f"cannot start the process that runs are forked from: {error}") from error
        finally:
            theirs.close()
        ours.setblocking(False)
        return cls(process, ours)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._line.fileno() >= 0 and self._process.poll() is None

    async def ask(self, message: wire.Message, descriptors: Sequence[int] = ()) -> wire.Message:
        """Its answer. Raises RunError when it is gone, or too busy to be asked."""
        try:
            wire.send(self._line, message, descriptors)
        except OSError as error:
            raise RunError(f"the process that runs are forked from does not listen: {error}") from error
        return await self._expect()

    def close(self) -> None:
        """Ask nothing more; it ends when its children have."""
        if self._line.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._line)
            self._line.close()
        for asked in self._asked:
            if not asked.done():
                asked.set_exception(RunError("the process that runs are forked from has ended"))
                asked.exception()  # whoever asked may have gone
        self._asked.clear()

    async def ended(self) -> None:
        """Wait until the process is gone, after `close`."""
        await asyncio.to_thread(self._process.wait)

    def _expect(self) -> asyncio.Future[wire.Message]:
        answer: asyncio.Future[wire.Message] = asyncio.get_running_loop().create_future()
        self._asked.append(answer)
        return answer

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
