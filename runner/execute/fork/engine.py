"""What the warm engine takes, decided from a run's command and environment before anything is started."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

import structlog

from runner.errors import RunError, UnsureError
from runner.execute.child import Child
from runner.execute.fork.inside.eligible import umask
from runner.execute.fork.inside.releases import unknown
from runner.execute.fork.inside.wire import ANSIBLE, OTHERS
from runner.execute.fork.zygote import ENDED_WITHIN, READY_WITHIN, SURE_WITHIN, Pair, Zygote
from runner.execute.root import make_root
from runner.execute.rundir import empty_directory

_VERBOSE = re.compile("-v{3,}")
Environment = Mapping[str, str]


_REST, _LONGEST_REST = 1.0, 60.0
"""Seconds without another attempt after the zygotes could not be started, twice as many after each."""
_LOOK_AFTER = 5.0
"""Seconds from a run's end until the zygotes, which have to let go of its lock, are asked whether they live."""
_log = structlog.get_logger(__name__)


def static(environment: Environment) -> dict[str, str]:
    """What all runs of an operator have in common: a zygote reads it when it starts."""
    return {name: value for name, value in environment.items() if name not in ANSIBLE | OTHERS}


def key(environment: Environment) -> str:
    """Runs with the same key can be forked from the same zygotes."""
    return hashlib.sha256(json.dumps(static(environment), sort_keys=True).encode()).hexdigest()


def refused(command: Sequence[str], cwd: Path) -> str:
    """Why this run cannot be warm, else an empty string."""
    beside = Path(sys.executable).with_name("ansible-playbook")
    if command[0] != str(beside):
        return f"it is {command[0]} that is to be run, not {beside}"
    if any(_VERBOSE.fullmatch(argument) for argument in command):
        return "from verbosity 3 on, Ansible shows how it is started and connected"
    configuration = cwd / "ansible.cfg"
    if os.path.lexists(configuration) and "ANSIBLE_CONFIG" not in os.environ:
        return f"{configuration} configures Ansible for this run alone"
    return ""


class ForkEngine:
    """Forks runs. `starts` counts the attempts to start the zygotes, by result."""

    def __init__(self, directory: Path) -> None:
        """In `directory`, which is ours alone, the zygotes are given an empty one to start in."""
        self._directory = directory
        self._unknown = unknown(version("ansible-core"))
        self._umask = umask()
        self._pair: Pair | None = None
        self._starting: asyncio.Task[None] | None = None
        self._rest = _REST
        self._rest_until = 0.0
        self._closed: set[Zygote] = set()
        self._look_again: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None
        self.starts = {"succeeded": 0, "failed": 0}

    @property
    def alive(self) -> int:
        """How many zygotes are."""
        return sum(zygote.alive for zygote in (self._pair.plays, self._pair.modules)) if self._pair else 0

    @property
    def pids(self) -> frozenset[int]:
        """Those of the zygotes, ready or not."""
        return frozenset({self._pair.plays.pid, self._pair.modules.pid} if self._pair else ())

    async def warm_up(self, environment: Mapping[str, str]) -> None:
        """Have the zygotes of this environment ready. Raises RunError, also for a while after a failure.

        Whoever is cancelled meanwhile only stops waiting: they are for all runs.
        """
        await self._ready_pair(environment)

    async def _ready_pair(self, environment: Mapping[str, str]) -> Pair:
        if self._unknown:
            raise RunError(self._unknown)
        wanted = key(environment)
        while not (self._pair and self._pair.alive and self._pair.key == wanted):
            if self._starting is None or self._starting.done():
                self._starting = asyncio.create_task(self._renew(wanted, static(environment)))
                self._starting.add_done_callback(_seen)
            await asyncio.shield(self._starting)
        return self._pair

    async def _renew(self, key: str, environment: Mapping[str, str]) -> None:
        self._let_go(self._pair)
        if time.monotonic() < self._rest_until:
            raise RunError("the processes that runs are forked from could not be started a moment ago")
        try:
            self._pair = await self._start(key, environment)
            self._rest = _REST
            self.starts["succeeded"] += 1
        except (RunError, OSError, TimeoutError) as error:
            self._rest_until = time.monotonic() + self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
            self.starts["failed"] += 1
            why = str(error) or f"they were not ready after {READY_WITHIN:g} seconds"
            raise RunError(f"cannot start the processes that runs are forked from: {why}") from error

    async def _start(self, key: str, environment: Mapping[str, str]) -> Pair:
        started = time.monotonic()
        directory = await asyncio.to_thread(_empty_place, self._directory)
        with ExitStack() as undo:
            zygotes: list[Zygote] = []
            for kind in ("plays", "modules"):
                zygote = Zygote.start(kind, directory, environment)
                undo.callback(self._dismiss, zygote)
                undo.callback(zygote.kill)
                zygotes.append(zygote)
            pair = Pair(key, *zygotes)
            ansible = await pair.introduce()
            undo.pop_all()
        seconds = time.monotonic() - started
        said = f"Warm: runs are forked from processes with ansible-core {ansible}, ready in {seconds:.1f} s"
        _log.info("Warm", ansible=ansible, seconds=round(seconds, 3), said=said)
        return pair

    async def start(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        lock: int,
        until: Callable[[], float],
        nice: int = 0,
    ) -> Child | str:
        """As `Child.start`; or else why nothing was started. Raises UnsureError where that is not certain.

        `until` is asked when there is something to fork from, which may take a while.
        """
        if reason := refused(command, cwd):
            return reason
        message = {
            "command": list(command),
            "cwd": str(cwd),
            "environment": dict(env),
            "umask": self._umask,
            "nice": nice,
        }
        try:
            for _ in range(2):
                pair = await self._ready_pair(env)
                child = await pair.fork({**message, "until": until()}, lock, self._look_soon)
                if isinstance(child, Child):
                    return child
                _log.info("Warming up anew", why=child)
                self._let_go(pair)
        except UnsureError:
            raise
        except RunError as error:
            return str(error)
        return child

    def _let_go(self, pair: Pair | None) -> None:
        """The zygotes end by themselves when their runs have."""
        if pair and pair is self._pair:
            self._pair = None
            for zygote in (pair.plays, pair.modules):
                zygote.close()
                self._dismiss(zygote)

    def _dismiss(self, zygote: Zygote) -> None:
        self._closed.add(zygote)
        zygote.gone.add_done_callback(lambda _: self._closed.discard(zygote))

    def _look_soon(self) -> None:
        """At the zygotes: when a run has ended they have to let go of its lock."""
        if self._look_again is None:
            self._look_again = asyncio.get_running_loop().call_later(_LOOK_AFTER, self._look)

    def _look(self) -> None:
        self._look_again = None
        if self._pair and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._pair.look_after())

    async def close(self) -> None:
        """End the zygotes; their runs have ended before."""
        if self._look_again:
            self._look_again.cancel()
        for task in (self._starting, self._looking):
            if task:
                task.cancel()
                await asyncio.wait({task})
        if self._pair:
            await self._pair.look_after(SURE_WITHIN)
        self._let_go(self._pair)
        await asyncio.gather(*(zygote.ended(ENDED_WITHIN) for zygote in self._closed))


def _empty_place(root: Path) -> Path:
    """Where there is no ansible.cfg, and no module that could be imported. Raises RunError, OSError."""
    return empty_directory(make_root(root) / ".zygotes")


def _seen(task: asyncio.Task[None]) -> None:
    """Whoever waits for it is told of its failure; there may be nobody."""
    if not task.cancelled():
        task.exception()
