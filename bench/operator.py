"""An operator as a process of its own, for the demo, the benchmark and the tests: start, read its log, end it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench import accounting
from bench.guard import Guard
from bench.observer import wait_for
from runner.errors import DevError

Record = dict[str, Any]
START = 60.0
"""Seconds an operator may take to be ready."""


class OperatorProcess:
    """`ansible-operator run` in the directory `project`, logging JSON to a file in `work`.

    It listens on free ports or not at all, so that several can run side by side; `command` replaces the
    executable by any other with the same command line.
    """

    def __init__(
        self,
        project: Path,
        kubeconfig: Path,
        work: Path,
        *flags: str,
        environment: Mapping[str, str] | None = None,
        command: tuple[str, ...] = (),
    ) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.log = work / "operator.log"
        self.runner_dir = work / "runner"
        self._output = work / "runs.log"
        self._project = project
        self._command = [
            *(command or (sys.executable, "-m", "runner")),
            "run",
            "--zap-encoder=json",
            "--proxy-port=0",
            "--metrics-bind-address=0",
            "--health-probe-bind-address=0",
            "--user-metrics-bind-address=0",
            f"--runner-dir={self.runner_dir}",
            *flags,
        ]
        # The tester's own virtual environment would be the Python of the runs' modules.
        kept = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
        self._environment = {**kept, "KUBECONFIG": str(kubeconfig), **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self, *, ready: bool = True) -> None:
        """Start, and wait until it says that it is ready; raises DevError with the end of its log."""
        seen = len(list(self.records()))
        with self.log.open("ab") as log, self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, cwd=self._project, env=self._environment, stdout=output, stderr=log
            )
        self._guard = Guard(["kill", str(self._process.pid)])
        if ready:
            wait_for("the operator to be ready", lambda: self._is_ready(seen), seconds=START)

    def stop(self, seconds: float = 60.0) -> int:
        """End it as Kubernetes does, by SIGTERM; returns its exit code."""
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        return self._wait(seconds)

    def kill(self) -> None:
        """kill -9."""
        self._running().kill()
        self._wait(10)

    def wait(self, seconds: float) -> int:
        """Wait for it to end by itself; returns its exit code."""
        return self._wait(seconds)

    def records(self, message: str = "") -> Iterator[Record]:
        """What it logged so far, or the records with that message."""
        if not self.log.exists():
            return
        for line in self.log.read_text(errors="replace").splitlines():
            record = _record(line)
            if not message or record.get("msg") == message:
                yield record

    def printed(self) -> str:
        """All that it wrote, to stdout and stderr."""
        return self._output.read_text(errors="replace") + self.log.read_text(errors="replace")

    def cpu_seconds(self) -> float:
        """CPU the operator process itself has used, without the runs."""
        return accounting.cpu_seconds_alone(self.pid)

    def memory(self) -> int:
        """Proportional set size of the operator process itself, in bytes."""
        return accounting.memory_alone(self.pid)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise DevError("the operator was not started")
        return self._process

    def _is_ready(self, seen: int) -> bool:
        code = self._running().poll()
        if code is not None:
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
            raise DevError(f"the operator ended with exit code {code} before it was ready:\n{tail}")
        return any(record.get("msg") == "Ready" for record in list(self.records())[seen:])

    def _wait(self, seconds: float) -> int:
        process = self._running()
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            raise DevError(f"the operator did not end within {seconds:.0f} s and was killed") from error
        finally:
            self._dismiss()
        return code

    def _dismiss(self) -> None:
        if self._guard is not None:
            self._guard.dismiss()
            self._guard = None


def _record(line: str) -> Record:
    try:
        found = json.loads(line)
    except ValueError:
        return {"msg": line}
    return found if isinstance(found, dict) else {"msg": line}
