"""kubectl and ansible-operator as a person uses them: typed, carried out, and the answer shown."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from runner.dev.programs import find_programs
from runner.errors import DevError

LOOK = 0.2
"""Seconds between two looks at a command that takes a while."""


def kubectl_program() -> str:
    """kubectl beside the control plane's programs, else the one on PATH. Raises DevError where there is none."""
    beside = find_programs().path("kube-apiserver").with_name("kubectl")
    found = str(beside) if beside.exists() else shutil.which("kubectl")
    if found is None:
        raise DevError("there is no kubectl: the demo types its commands; install it and have it on PATH")
    return found


class Kubectl:
    """Types commands in `directory`; while one takes its time, `meanwhile` is called again and again."""

    def __init__(
        self, kubeconfig: Path, directory: Path, console: Console, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        self._program = kubectl_program()
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        self._directory = directory
        self._console = console
        self._meanwhile = meanwhile

    def type(self, arguments: str) -> str:
        """`kubectl <arguments>`, as a shell splits them; what it answers. Raises DevError where it fails."""
        return self._type(f"kubectl {arguments}", [self._program, *shlex.split(arguments)])

    def operator(self, arguments: str, *, code: int = 0) -> str:
        """`ansible-operator <arguments>`, which ends with that exit code; else as `type`."""
        command = [sys.executable, "-m", "runner", *shlex.split(arguments)]
        return self._type(f"ansible-operator {arguments}", command, code)

    def _type(self, typed: str, command: list[str], code: int = 0) -> str:
        self._show(f"$ {typed}", "bold cyan")
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(
                command, cwd=self._directory, env=self._environment, stdout=output, stderr=subprocess.STDOUT
            )
            while not _ended(process):
                self._meanwhile()
            output.seek(0)
            answer = output.read()
        if process.returncode != code:
            raise DevError(f"{typed}: exit code {process.returncode}\n{answer}")
        for line in answer.splitlines():
            self._show(line.rstrip(), "dim")
        return answer

    def _show(self, line: str, style: str) -> None:
        self._console.print(f"    {line}", style=style, highlight=False, markup=False, soft_wrap=True)


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(LOOK)
    except subprocess.TimeoutExpired:
        return False
    return True
