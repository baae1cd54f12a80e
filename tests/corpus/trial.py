"""Lends the executor for one case, and ends every process that the case leaves behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.executors import Executors, Make, Shared
from tests.corpus.stage import Stage

_WITHIN = 240.0
"""Seconds for the runs of a case by one executor, of which there are two before pytest's timeout; ten are usual.

A run that is cancelled ends its processes; one that pytest's timeout abandons goes on.
"""
_ZYGOTES_END_WITHIN = 20.0
_ZYGOTE = "ansible_operator_warm"
"""In the command line of a zygote, and so of all that is forked from it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Where cases run, and the executors that they share."""

    stage: Stage
    executors: Executors

    @asynccontextmanager
    async def lend(
        self, make: Make, name: str, environment: Mapping[str, str] | None = None, *, keep: bool = True
    ) -> AsyncIterator[Shared]:
        """The executor for the case of this name; see `Executors.lend`. Fails if a process of a run is left."""
        try:
            async with asyncio.timeout(_WITHIN):
                async with self.executors.lend(make, self.stage.environment(environment), name, keep=keep) as lent:
                    yield lent
            left = await self._left()
        finally:
            _kill(self._processes())
        assert left == {}

    async def _left(self) -> dict[int, str]:
        """The processes of runs, and their commands; zygotes that were replaced are given time to end."""
        deadline = asyncio.get_running_loop().time() + _ZYGOTES_END_WITHIN
        while left := self._processes():
            started = {pid: command for pid, command in left.items() if _ZYGOTE not in command}
            if started or asyncio.get_running_loop().time() > deadline:
                return started or left
            await asyncio.sleep(0.01)
        return {}

    def _processes(self) -> dict[int, str]:
        """The processes of this stage with their commands, but those that wait for another run."""
        left = self.stage.processes()
        return {pid: _command(pid) for pid in left - self.executors.processes()}


def _command(pid: int) -> str:
    with suppress(OSError):
        return (Path("/proc") / str(pid) / "cmdline").read_text().replace("\0", " ")
    return ""


def _kill(pids: Mapping[int, str]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
