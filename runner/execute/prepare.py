"""What happens on disk before a run and after it: its inputs, ansible-runner's configuration, its artifacts.

What kubernetes.core has found out about the cluster's API is handed on from one object's runs to another's. It
keeps that in a file in TMPDIR named by the server's URL. That of our proxy says whose run it is, so each new
object would ask the API server for everything again. Should the file be named otherwise one day, it is not
found, and all is asked for again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import structlog
import yaml

from runner.errors import RunError
from runner.execute import artifacts, inputs
from runner.execute.budget import Budget, Room
from runner.execute.console import Console
from runner.execute.outcome import Ending
from runner.execute.run import Run
from runner.execute.rundir import DISCOVERY, RunDirectory

_STATUS = {Ending.CANCELLED: "canceled", Ending.DEADLINE: "timeout", Ending.MEMORY: "failed"}
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_log = structlog.get_logger(__name__)


class _AnsibleRunner(Protocol):
    """What is used of `ansible_runner.runner.Runner`."""

    config: Any

    def status_callback(self, status: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is ready to start: `runner` is ansible-runner's, `room` bounds what it writes."""

    directory: RunDirectory
    runner: _AnsibleRunner
    playbook: Path
    room: Room

    @property
    def artifacts(self) -> Path:
        return Path(self.runner.config.artifact_dir)


class Preparation:
    """Prepares runs and finishes their files; blocks. `environment` and `console` are those of the executor."""

    def __init__(self, environment: Mapping[str, str], console: Console | None, budget: Budget) -> None:
        self._environment = environment
        self._budget = budget
        self._console = console
        self._discovery = Discovery()

    def prepare(self, run: Run, directory: RunDirectory) -> Prepared:
        """Write all that the run reads. Raises RunError, and leaves nothing of it then."""
        environment = {**os.environ, **self._environment}
        playbook = inputs.write_inputs(directory, run, environment)
        try:
            room = self._budget.begin(directory)
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
        return Prepared(directory, runner, playbook, room)

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

    def finish(
        self, run: Run, prepared: Prepared, ending: Ending, code: int, about: artifacts.About | None = None
    ) -> None:
        """Everything after the last process; a failure here is logged, for what the run did is done.

        `about` is what is to be told of the run; nothing of one that never started.
        """
        room = prepared.room
        if room.left_out:
            _log.warning("Output of a run was left out", object=str(run.key), run=run.ident, bytes=room.left_out)
            about = {**about, "leftOut": room.left_out} if about else about
        status = _STATUS.get(ending) or ("successful" if code == 0 else "failed")
        steps: list[Callable[[], object]] = [  # each whatever became of the one before
            lambda: self._discovery.take(prepared.directory.temporary),
            lambda: inputs.remove_inputs(prepared.directory, prepared.playbook),
            lambda: prepared.runner.status_callback(status),
            lambda: artifacts.finish(prepared.artifacts, status, code),
            lambda: artifacts.tell(prepared.artifacts, about) if about else None,
            lambda: self._budget.settle(prepared.directory, run.ident, run.max_artifacts, room),
        ]
        if self._console:
            console = self._console
            steps.append(lambda: console.exited(run, code, prepared.artifacts / "stdout"))
        for step in steps:
            try:
                step()
            except Exception:  # noqa: BLE001  (another room's mistake must not end the watch)
                _log.exception("cannot finish the files of a run", object=str(run.key), run=run.ident)


def _ansible_playbook(path: str) -> str:
    """The ansible-playbook of this Python, else the first on `path`. Raises RunError if there is none."""
    beside = Path(sys.executable).with_name("ansible-playbook")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("ansible-playbook", path=path)
    if found is None:
        raise RunError(f"ansible-playbook is neither beside {sys.executable} nor on PATH: install ansible-core")
    return found


class Discovery:
    """The latest that any run has found out, in memory."""

    def __init__(self, since: int | None = None) -> None:
        """`since` is when this operator was started, in ns; now, if it is not said."""
        self._since = time.time_ns() if since is None else since
        self._content = ""
        self._written = 0

    def give(self, temporary: Path, kubeconfig: str) -> None:
        """Put it into a TMPDIR, unless the runs of this object have some already.

        What earlier operators left is removed: their proxies' URLs were others, and so the names of their files.
        """
        with suppress(OSError, KeyError, IndexError, TypeError, yaml.YAMLError):
            if not self._of_this_operator(temporary) and self._content:
                (temporary / file_name(_server(kubeconfig))).write_text(self._content, encoding="utf-8")

    def _of_this_operator(self, temporary: Path) -> bool:
        found = False
        for path in temporary.glob(DISCOVERY):
            if path.lstat().st_mtime_ns < self._since:
                path.unlink()
            else:
                found = True
        return found

    def take(self, temporary: Path) -> None:
        """Remember what the run that has just ended has found out anew."""
        with suppress(OSError, ValueError):
            for path in temporary.glob(DISCOVERY):
                written = path.stat().st_mtime_ns
                if written > self._written:
                    self._content, self._written = path.read_text(encoding="utf-8"), written


def file_name(server: str) -> str:
    """That of kubernetes.core's file for this server's URL, when it is used by our own user."""
    user = _user()
    identity = f"{server}-{user}" if user else server
    return f"k8srcp-{hashlib.sha256(identity.encode()).hexdigest()}.json"


def _server(kubeconfig: str) -> str:
    loaded = yaml.load(kubeconfig, Loader=_Loader)  # noqa: S506  (safe, in C: a tenth of the time of the other)
    return str(loaded["clusters"][0]["cluster"]["server"])


def _user() -> str:
    """As kubernetes.core asks for it: a login name, else a user id that is not 0, else USERNAME."""
    login = ""
    with suppress(OSError):
        login = os.getlogin()
    return login or str(os.getuid() or os.environ.get("USERNAME", ""))
