"""The cold executor: ansible-runner prepares a run, a fresh ansible-playbook carries it out.

Cancelling `run` only asks the run to end; the cancellation goes on once the last process is gone. Everything
between the lock and the last file is therefore done in a task of its own that nobody cancels.
"""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet

import structlog

from runner.config.watches import Engine
from runner.errors import RunError
from runner.execute import artifacts, inputs
from runner.execute.child import Child
from runner.execute.console import Console
from runner.execute.discovery import Discovery
from runner.execute.lock import left_behind, locked
from runner.execute.outcome import conclude
from runner.execute.run import Ending, Outcome, Run, Sink
from runner.execute.rundir import RunDirectory
from runner.execute.stream import Stream
from runner.objects import ObjectKey

_STATUS = {Ending.CANCELLED: "canceled", Ending.DEADLINE: "timeout"}
_STOPPED_CODE = 254
_PATIENCE = 5.0
_log = structlog.get_logger(__name__)


class _AnsibleRunner(Protocol):
    """What is used of `ansible_runner.runner.Runner`."""

    config: Any

    def status_callback(self, status: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Started:
    """A run under way, and how it was started."""

    child: Child
    engine: Engine = Engine.COLD
    why_cold: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is ready to start: `runner` is ansible-runner's."""

    directory: RunDirectory
    runner: _AnsibleRunner
    playbook: Path

    @property
    def artifacts(self) -> Path:
        return Path(self.runner.config.artifact_dir)


class ColdExecutor:
    """Runs Ansible as `ansible-runner run` would, with its files, but events that come as they happen.

    `environment` is added to the process environment for every run; `console` is shown every run.
    """

    def __init__(
        self,
        runner_dir: Path,
        environment: Mapping[str, str] | None = None,
        *,
        console: Console | None = None,
    ) -> None:
        self._root = runner_dir.absolute()
        self._environment = dict(environment or {})
        self._console = console
        self._children: WeakSet[Child] = WeakSet()
        self._until = math.inf
        self._discovery = Discovery()

    async def run(self, run: Run, sink: Sink) -> Outcome:
        """See `Executor.run`. Raises RunError when the run could not be prepared or started."""
        directory = RunDirectory.of(self._root, run.key)
        lock = await self._lock(directory)
        try:
            stop = asyncio.Event()
            task = asyncio.create_task(self._run(run, sink, directory, lock, stop))
            return await _outlast(task, stop)
        finally:
            if left := left_behind(lock):
                _log.warning(
                    "processes of a run cannot be ended, and keep its next run waiting",
                    object=str(run.key),
                    left=left,
                )
            os.close(lock)

    def extend(self, until: float) -> None:
        """Runs under way, and later ones, are ended at that moment (of CLOCK_BOOTTIME) unless this is said again.

        Also while this process is frozen and cannot end them.
        """
        self._until = until
        for child in self._children:
            child.extend(until)

    async def forget(self, key: ObjectKey) -> None:
        """See `Executor.forget`. What cannot be removed is logged and stays."""
        directory = RunDirectory.of(self._root, key)
        if not directory.path.is_dir():
            return
        try:
            lock = await locked(directory.lock)
        except FileNotFoundError:
            return
        except OSError as error:
            _log.warning("cannot lock a run directory to remove it", object=str(key), error=str(error))
            return
        try:
            await asyncio.to_thread(directory.remove)
        except OSError as error:
            _log.warning("cannot remove a run directory", object=str(key), error=str(error))
        finally:
            os.close(lock)

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
        prepared = await asyncio.to_thread(self._prepare, run, directory)
        ending, code = Ending.CANCELLED, _STOPPED_CODE
        under_way: Started | None = None
        started = time.monotonic()
        try:
            with closing(self._stream(run, sink, prepared)) as stream:
                if not stop.is_set():
                    begun = await _begin(self._start(run, prepared, lock), stop, run.deadline)
                    if isinstance(begun, Ending):
                        ending = begun
                    else:
                        under_way = begun
                        self._children.add(under_way.child)
                        with suppress(OSError):  # for people; the run is under way
                            artifacts.started(prepared.artifacts, under_way.engine, under_way.why_cold)
                        left = run.deadline and max(0.0, run.deadline - (time.monotonic() - started))
                        ending, code = await _follow(under_way.child, stream, stop, left)
        finally:
            await asyncio.to_thread(self._finish, run, prepared, ending, code)
        result = conclude(
            stream.state,
            ending=ending,
            return_code=code,
            rescued_tasks_fail=run.rescued_tasks_fail,
            note=f"ended by its deadline of {run.deadline:g} seconds" if ending is Ending.DEADLINE else "",
        )
        return replace(result, engine=under_way.engine, why_cold=under_way.why_cold) if under_way else result

    def _stream(self, run: Run, sink: Sink, prepared: Prepared) -> Stream:
        sinks: list[Sink] = [sink] if self._console is None else [self._console, sink]
        try:
            return Stream(run, prepared.artifacts, sinks)
        except OSError as error:
            raise RunError(f"cannot write the output of the run of {run.key}: {error}") from error

    def _prepare(self, run: Run, directory: RunDirectory) -> Prepared:
        environment = {**os.environ, **self._environment}
        playbook = inputs.write_inputs(directory, run, environment)
        try:
            self._discovery.give(directory.temporary, run.kubeconfig)
            runner = self._init_runner(run, directory, playbook, environment)
            config = runner.config
            config.command[0] = _ansible_playbook(config.env.get("PATH", os.defpath))
            runner.status_callback("starting")
            artifacts.begin(Path(config.artifact_dir), config.command, config.cwd, config.env)
        except RunError:
            inputs.remove_inputs(directory, playbook)
            raise
        except Exception as error:
            inputs.remove_inputs(directory, playbook)
            raise RunError(f"ansible-runner cannot prepare the run of {run.key}: {error}") from error
        return Prepared(directory, runner, playbook)

    def _init_runner(
        self, run: Run, directory: RunDirectory, playbook: Path, environment: Mapping[str, str]
    ) -> _AnsibleRunner:
        # Here because it takes 30 ms that only an operator needs; the package, not a module of it, because that
        # waits for another thread that is importing it, and its last line is one that runs need.
        import ansible_runner  # noqa: PLC0415

        runner: _AnsibleRunner = ansible_runner.interface.init_runner(
            private_data_dir=str(directory.path),
            ident=run.ident,
            playbook=str(playbook),
            roles_path=inputs.roles_path(run, environment),
            envvars=self._environment,
            verbosity=max(0, run.verbosity),
            quiet=True,
            cancel_callback=lambda: False,  # else it installs signal handlers
        )
        return runner

    async def _start(self, run: Run, prepared: Prepared, lock: int) -> Started:  # noqa: ARG002  (the warm one's)
        prepared.runner.status_callback("running")
        return await self._start_cold(prepared, lock)

    async def _start_cold(self, prepared: Prepared, lock: int, why: str = "") -> Started:
        config = prepared.runner.config
        try:
            child = await Child.start(
                config.command, cwd=Path(config.cwd), env=config.env, lock=lock, until=self._until
            )
        except OSError as error:
            raise RunError(f"cannot start {config.command[0]}: {error}") from error
        return Started(child, Engine.COLD, why)

    def _finish(self, run: Run, prepared: Prepared, ending: Ending, code: int) -> None:
        """Everything after the last process; a failure here is logged, for what the run did is done."""
        status = _STATUS.get(ending) or ("successful" if code == 0 else "failed")
        steps: list[Callable[[], object]] = [  # each whatever became of the one before
            lambda: self._discovery.take(prepared.directory.temporary),
            lambda: inputs.remove_inputs(prepared.directory, prepared.playbook),
            lambda: prepared.runner.status_callback(status),
            lambda: artifacts.finish(prepared.artifacts, status, code),
            lambda: artifacts.rotate(prepared.directory.artifacts, run.max_artifacts, run.ident),
        ]
        if self._console:
            console = self._console
            steps.append(lambda: console.exited(run, code, prepared.artifacts / "stdout"))
        for step in steps:
            try:
                step()
            except Exception:  # noqa: BLE001  (artifacts are for people; the outcome is known)
                _log.exception("cannot finish the files of a run", object=str(run.key), run=run.ident)


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


async def _follow(child: Child, stream: Stream, stop: asyncio.Event, deadline: float | None) -> tuple[Ending, int]:
    """Read until the run ends or has to; how it ended, and its exit code. No process of it is left then."""
    reading = asyncio.create_task(stream.read(child.output, child.parts))
    ended = asyncio.create_task(child.wait())
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({ended, stopped}, timeout=deadline, return_when=asyncio.FIRST_COMPLETED)
        ending = Ending.FINISHED
        if not ended.done():
            ending = Ending.CANCELLED if stopped.done() else Ending.DEADLINE
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


def _ansible_playbook(path: str) -> str:
    """The ansible-playbook of this Python, else the first on `path`. Raises RunError if there is none."""
    beside = Path(sys.executable).with_name("ansible-playbook")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("ansible-playbook", path=path)
    if found is None:
        raise RunError(f"ansible-playbook is neither beside {sys.executable} nor on PATH: install ansible-core")
    return found
