"""What happens on disk before a run and after it: its inputs, ansible-runner's configuration, its artifacts."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import structlog

from runner.errors import RunError
from runner.execute import artifacts, inputs
from runner.execute.console import Console
from runner.execute.discovery import Discovery
from runner.execute.run import Ending, Run
from runner.execute.rundir import RunDirectory

_STATUS = {Ending.CANCELLED: "canceled", Ending.DEADLINE: "timeout"}
_log = structlog.get_logger(__name__)


class _AnsibleRunner(Protocol):
    """What is used of `ansible_runner.runner.Runner`."""

    config: Any

    def status_callback(self, status: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is ready to start: `runner` is ansible-runner's."""

    directory: RunDirectory
    runner: _AnsibleRunner
    playbook: Path

    @property
    def artifacts(self) -> Path:
        return Path(self.runner.config.artifact_dir)


class Preparation:
    """Prepares runs and finishes their files; blocks. `environment` and `console` are those of the executor."""

    def __init__(self, environment: Mapping[str, str], console: Console | None) -> None:
        self._environment = environment
        self._console = console
        self._discovery = Discovery()

    def prepare(self, run: Run, directory: RunDirectory) -> Prepared:
        """Write all that the run reads. Raises RunError, and leaves nothing of it then."""
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

    def finish(self, run: Run, prepared: Prepared, ending: Ending, code: int) -> None:
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
            except Exception:  # noqa: BLE001  (another room's mistake must not end the watch)
                _log.exception("cannot finish the files of a run", object=str(run.key), run=run.ident)


def _ansible_playbook(path: str) -> str:
    """The ansible-playbook of this Python, else the first on `path`. Raises RunError if there is none."""
    beside = Path(sys.executable).with_name("ansible-playbook")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("ansible-playbook", path=path)
    if found is None:
        raise RunError(f"ansible-playbook is neither beside {sys.executable} nor on PATH: install ansible-core")
    return found
