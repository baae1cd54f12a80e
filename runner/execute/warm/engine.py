"""Keeps the two zygotes, and has runs forked from them."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import structlog

from runner.errors import RunError
from runner.execute.child import Child, lifeline
from runner.execute.parts import Parts
from runner.execute.warm import covered
from runner.execute.warm.inside import wire
from runner.execute.warm.zygote import READY_WITHIN, Zygote

_REST, _LONGEST_REST = 1.0, 60.0
"""Seconds without another attempt after the zygotes could not be started, twice as many after each."""
_KILLED = 137
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Pair:
    key: str
    plays: Zygote
    modules: Zygote

    @property
    def alive(self) -> bool:
        return self.plays.alive and self.modules.alive

    def close(self) -> None:
        self.plays.close()
        self.modules.close()


class ForkEngine:
    """Forks runs."""

    def __init__(self, directory: Path) -> None:
        """`directory` is where the zygotes are started: one without an ansible.cfg."""
        self._directory = directory
        self._unknown = covered.unknown(version("ansible-core"))
        self._pair: _Pair | None = None
        self._starting = asyncio.Lock()
        self._rest = _REST
        self._rest_until = 0.0
        self._closed: list[Zygote] = []

    @property
    def pids(self) -> frozenset[int]:
        """Those of the zygotes, ready or not."""
        return frozenset({self._pair.plays.pid, self._pair.modules.pid} if self._pair else ())

    async def warm_up(self, environment: Mapping[str, str]) -> None:
        """Have the zygotes of this environment ready. Raises RunError, also for a while after a failure."""
        if self._unknown:
            raise RunError(self._unknown)
        wanted = covered.key(environment)
        async with self._starting:
            if self._pair and self._pair.alive and self._pair.key == wanted:
                return
            self._let_go()
            if time.monotonic() < self._rest_until:
                raise RunError("the processes that runs are forked from could not be started a moment ago")
            try:
                self._pair = await self._start(wanted, covered.static(environment))
                self._rest = _REST
            except (RunError, OSError, TimeoutError) as error:
                self._rest_until = time.monotonic() + self._rest
                self._rest = min(2 * self._rest, _LONGEST_REST)
                raise RunError(f"cannot start the processes that runs are forked from: {error}") from error

    async def _start(self, key: str, environment: Mapping[str, str]) -> _Pair:
        started = time.monotonic()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        zygotes: list[Zygote] = []
        try:
            for kind in ("plays", "modules"):
                zygotes.append(Zygote.start(kind, self._directory, environment))  # noqa: PERF401  (each one to be closed)
            plays, modules = zygotes
            async with asyncio.timeout(READY_WITHIN):
                ready = await _introduced(plays, modules)
        except BaseException:
            for zygote in zygotes:
                zygote.close()
            self._closed += zygotes
            raise
        _log.info("Warm", ansible=ready["version"], seconds=round(time.monotonic() - started, 3))
        return _Pair(key, plays, modules)

    async def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], lock: int, until: float
    ) -> Child | str:
        """As `Child.start`; or else why nothing was started."""
        if reason := covered.refused(command, cwd):
            return reason
        try:
            for _ in range(2):
                await self.warm_up(env)
                child = await self._fork(command, cwd=cwd, env=env, lock=lock, until=until)
                if isinstance(child, Child):
                    return child
                _log.info("Warming up anew", why=child)
                self._let_go()
        except RunError as error:
            return str(error)
        return child

    async def _fork(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], lock: int, until: float
    ) -> Child | str:
        assert self._pair is not None  # noqa: S101  (warm_up has just seen to it)
        message = {
            "command": list(command),
            "cwd": str(cwd),
            "environment": dict(env),
            "until": until,
            "umask": _umask(),
        }
        ours, host = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs, line = lifeline()
        output, written = os.pipe()
        status, told = os.pipe()
        parts, sent = os.pipe()
        try:
            with ours, host:
                answers = await asyncio.gather(
                    self._pair.modules.ask({}, [lock, host.fileno()]),
                    self._pair.plays.ask(message, [lock, theirs, written, told, sent, ours.fileno()]),
                )
        except BaseException:
            wire.close([line, output, status, parts])
            raise
        finally:
            wire.close([theirs, written, told, sent])
        refused = [answer["refused"] for answer in answers if "refused" in answer]
        child = Child(answers[1].get("pid", 0), line)
        if refused:
            child.end()  # the other one may have been forked
            wire.close([output, status, parts])
            return str(refused[0])
        _tell_of_end(status, child)
        child.parts = Parts(parts)
        await child.read(output)
        return child

    def _let_go(self) -> None:
        """The zygotes end by themselves when their runs have."""
        if self._pair:
            self._pair.close()
            self._closed += [self._pair.plays, self._pair.modules]
            self._pair = None

    async def close(self) -> None:
        """End the zygotes; their runs have ended before."""
        self._let_go()
        await asyncio.gather(*(zygote.ended() for zygote in self._closed))
        self._closed.clear()


async def _introduced(plays: Zygote, modules: Zygote) -> wire.Message:
    """What the first said when it was ready, after the second was told what it must know of it."""
    ready = await plays.ready
    if ready["unfit"]:
        raise RunError(ready["unfit"])
    await modules.ready
    await modules.ask({"tell": {"places": ready["places"]}})
    return ready


def _tell_of_end(status: int, child: Child) -> None:
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

    loop.add_reader(status, on_status)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
