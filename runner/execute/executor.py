"""Runs Ansible: ansible-runner prepares a run, a fork or a fresh ansible-playbook carries it out.

Cancelling `run` only asks the run to end; the cancellation goes on once the last process is gone. Everything
between the lock and the last file is therefore done in a task of its own that nobody cancels.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from weakref import WeakSet

import structlog

from runner.config.settings import Settings
from runner.config.watches import Engine
from runner.errors import RunError
from runner.execute import artifacts
from runner.execute.budget import Budget, Limits
from runner.execute.child import Child
from runner.execute.console import Console, console_for
from runner.execute.fork.engine import ForkEngine
from runner.execute.inputs import of_all_runs
from runner.execute.memory import MemoryGuard, Place
from runner.execute.outcome import Ending, Outcome, State, conclude
from runner.execute.prepare import Preparation, Prepared
from runner.execute.root import private_root
from runner.execute.run import Run, Sink
from runner.execute.rundir import RunDirectory, forget, left_behind, locked
from runner.execute.stream import Stream
from runner.execute.template import with_lines
from runner.objects import GroupVersionKind, ObjectKey

_STOPPED_CODE = 254
_PATIENCE = 5.0
_BESIDE = 10  # how nice runs of a sibling are to the others
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Started:
    """A run under way, and how it was started."""

    child: Child
    engine: Engine = Engine.COLD
    why_cold: str = ""


class Executor:
    """Runs Ansible as `ansible-runner run` would, with its files, but events that come as they happen.

    `environment` is added to that of the process for every run; `console` is shown each. Runs are forked where
    that can be, else started cold. With a `sibling` it shares fork servers and the memory guard, which ends one
    run of both when memory is short; its runs then have a lower priority.

    Cancelling a run ends its every process before the cancellation goes on. Of an object's runs, one waits for the
    processes of the one before to be gone, also those that a killed operator left.
    """

    def __init__(
        self,
        runner_dir: Path,
        environment: Mapping[str, str] | None = None,
        *,
        console: Console | None = None,
        sibling: Executor | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.root = runner_dir.absolute()
        self._environment = dict(environment or {})
        self._console = console
        self.budget: Budget = sibling.budget if sibling else Budget(limits or Limits())
        self._preparation = Preparation(self._environment, console, self.budget)
        self.engine: ForkEngine = sibling.engine if sibling else ForkEngine(self.root)
        self._nice = _BESIDE if sibling else 0
        self._children: WeakSet[Child] = WeakSet()
        self._until = math.inf
        self.memory: MemoryGuard = sibling.memory if sibling else MemoryGuard()

    @classmethod
    def of(cls, settings: Settings, kinds: Iterable[GroupVersionKind]) -> Self:
        """The one of an operator of these kinds."""
        root, limits = private_root(settings.runner_dir), settings.runner_dir_limits
        return cls(root, settings.environment, console=console_for(settings, kinds), limits=Limits(*limits))

    def output(self, run: Run) -> Path:
        """The file that holds, or held, all that the run has written."""
        return RunDirectory.of(self.root, run.key).artifacts / run.ident / "stdout"

    async def warm_up(self) -> None:
        """Start what runs are forked from, so that the first run finds it. Raises RunError if that fails."""
        environment = {**os.environ, **self._environment}
        await self.engine.warm_up(environment | of_all_runs(environment))

    @property
    def zygotes(self) -> frozenset[int]:
        """The ids of the processes that runs and their modules are forked from."""
        return self.engine.pids

    @property
    def zygote_starts(self) -> Mapping[str, int]:
        """How often they were started, by result: succeeded, failed."""
        return self.engine.starts

    async def close(self) -> None:
        """End what runs are forked from, and runs that are still under way."""
        for child in self._children:
            child.end()
        if not self._nice:
            await self.engine.close()

    async def run(self, run: Run, sink: Sink = lambda _run, _event: None) -> Outcome:
        """What came of the run, whatever that was. Raises RunError when it could not be prepared or started."""
        directory = RunDirectory.of(self.root, run.key)
        lock = await self._lock(directory)
        try:
            stop = asyncio.Event()
            task = asyncio.create_task(self._run(run, sink, directory, lock, stop))
            return await _outlast(task, stop)
        finally:
            if left := left_behind(lock):
                _log.warning(
                    "processes of a run cannot be ended, its next one waits", object=str(run.key), left=left
                )
            os.close(lock)

    def extend(self, until: float) -> None:
        """Runs under way, and later ones, are ended at that moment (of CLOCK_BOOTTIME) unless this is said again.

        Also while this process is frozen and cannot end them.
        """
        self._until = until
        for child in self._children:
            child.extend(until)

    async def forget(self, key: ObjectKey, only_if: Callable[[], Awaitable[bool]] | None = None) -> None:
        """Remove what runs of this object left on disk once none is under way, if that holds then.

        What cannot be removed is logged and stays. Raises RunError for a key that no run can have.
        """
        directory = RunDirectory.of(self.root, key)
        await forget(directory, only_if)
        if not directory.path.exists():
            self.budget.forget(directory)

    async def measure(self, keys: Iterable[ObjectKey]) -> None:
        """Account for what earlier operators have left on disk of these objects."""
        await asyncio.to_thread(self.budget.measure, [RunDirectory.of(self.root, key) for key in keys])

    async def _lock(self, directory: RunDirectory) -> int:
        while True:
            directory.make()
            try:
                return await locked(directory.lock)
            except FileNotFoundError:  # the object before us, of the same name, was just forgotten
                continue
            except OSError as error:
                raise RunError(f"cannot lock {directory.lock}: {error}") from error

    async def _run(self, run: Run, sink: Sink, directory: RunDirectory, lock: int, stop: asyncio.Event) -> Outcome:
        prepared = await asyncio.to_thread(self._preparation.prepare, run, directory)
        ending, code = Ending.CANCELLED, _STOPPED_CODE
        under_way: Started | None = None
        about: artifacts.About = {}
        started = time.monotonic()
        try:
            with closing(self._stream(run, sink, prepared)) as stream, closing(self.memory.place()) as place:
                if not stop.is_set():
                    begun = await _begin(self._start(run, prepared, lock, place), stop, run.deadline)
                    if isinstance(begun, Ending):
                        ending = begun
                    else:
                        under_way, place.process = begun, begun.child
                        self._children.add(begun.child)
                        begun.child.extend(self._until)  # it may have become later meanwhile
                        about = artifacts.started(prepared.artifacts, run, begun.engine, begun.why_cold)
                        left = run.deadline and max(0.0, run.deadline - (time.monotonic() - started))
                        ending, code = await _follow(begun.child, stream, stop, place.ended, left)
            memory = place.ended.result() if ending is Ending.MEMORY else self.memory.killed()
            result = await _concluded(run, stream.state, ending, code, memory)
            about = artifacts.over(about, result, datetime.now(UTC), run.calls) if about else about
        finally:
            await asyncio.to_thread(self._preparation.finish, run, prepared, ending, code, about)
        return replace(result, engine=under_way.engine, why_cold=under_way.why_cold) if under_way else result

    def _stream(self, run: Run, sink: Sink, prepared: Prepared) -> Stream:
        sinks: list[Sink] = [sink] if self._console is None else [self._console, sink]
        try:
            return Stream(run, prepared.artifacts, sinks, prepared.room)
        except OSError as error:
            raise RunError(f"cannot write the output of the run of {run.key}: {error}") from error

    async def _start(self, run: Run, prepared: Prepared, lock: int, place: Place) -> Started:
        """Fork it or spawn it, as is asked for and can be, when there is memory for it."""
        await self.memory.take(place)
        prepared.runner.status_callback("running")
        if run.engine is Engine.COLD:
            return await self._spawn(prepared, lock)
        config, nice = prepared.runner.config, self._nice
        child = await self.engine.start(
            config.command, cwd=Path(config.cwd), env=config.env, lock=lock, until=lambda: self._until, nice=nice
        )
        if not isinstance(child, str):
            return Started(child, Engine.WARM)
        if run.engine is Engine.WARM:
            raise RunError(f"this run cannot be warm, and no other is wanted: {child}")
        return await self._spawn(prepared, lock, child)

    async def _spawn(self, prepared: Prepared, lock: int, why: str = "") -> Started:
        config = prepared.runner.config
        try:
            child = await Child.start(
                config.command, cwd=Path(config.cwd), env=config.env, lock=lock, until=self._until
            )
        except OSError as error:
            raise RunError(f"cannot start {config.command[0]}: {error}") from error
        return Started(child, Engine.COLD, why)


async def _begin(
    starting: Coroutine[Any, Any, Started], stop: asyncio.Event, deadline: float | None
) -> Started | Ending:
    """The run, or why it had to end before it was under way: nothing of it is. Raises RunError."""
    begun = asyncio.create_task(starting)
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait({begun, stopped}, timeout=deadline, return_when=asyncio.FIRST_COMPLETED)
    ending = Ending.CANCELLED if stopped.done() else Ending.DEADLINE
    stopped.cancel()
    begun.cancel()  # which does nothing when it is done
    await asyncio.wait({begun})
    return ending if begun.cancelled() else begun.result()


async def _follow(
    child: Child, stream: Stream, stop: asyncio.Event, short: asyncio.Future[str], deadline: float | None
) -> tuple[Ending, int]:
    """Read until the run ends or has to; how it ended, and its exit code. No process of it is left then."""
    reading = asyncio.create_task(stream.read(child.output, child.parts))
    ended = asyncio.create_task(child.wait())
    stopped = asyncio.create_task(stop.wait())
    try:
        ends: set[asyncio.Future[Any]] = {ended, stopped, short}
        await asyncio.wait(ends, timeout=deadline, return_when=asyncio.FIRST_COMPLETED)
        ending = Ending.FINISHED
        if not ended.done():
            ending = _why(stopped, short)
            child.end()
        code = await ended
        await asyncio.wait({reading}, timeout=_PATIENCE)
        return ending, code if ending is Ending.FINISHED else _STOPPED_CODE
    finally:
        child.end()
        await child.wait()
        child.close()
        for task in (reading, ended, stopped):
            task.cancel()


async def _concluded(run: Run, state: State, ending: Ending, code: int, memory: str) -> Outcome:
    result = conclude(
        state,
        ending=ending,
        return_code=code,
        rescued_tasks_fail=run.rescued_tasks_fail,
        deadline=run.deadline,
        memory=memory,
    )
    if any(failure.template for failure in result.failures):
        result = replace(result, failures=await asyncio.to_thread(with_lines, result.failures))
    return result


def _why(stopped: asyncio.Task[Any], short: asyncio.Future[str]) -> Ending:
    """Why a run has to end that would go on."""
    if stopped.done():
        return Ending.CANCELLED
    return Ending.MEMORY if short.done() else Ending.DEADLINE


async def _outlast(task: asyncio.Task[Outcome], stop: asyncio.Event) -> Outcome:
    """The task's result. A cancellation meanwhile sets `stop`, waits for the task to end, and then goes on."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
            stop.set()
    if cancelled is None:
        return task.result()
    if not task.cancelled() and (failure := task.exception()):
        _log.warning("a run that was cancelled had failed before", error=str(failure))
    raise cancelled
