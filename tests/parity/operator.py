"""The executable under test, as a process of its own: only its command line is relied on."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import urllib3

BARE = ("ANSIBLE_", "KUBE", "K8S_", "WATCH_NAMESPACE", "VIRTUAL_ENV", "MAX_CONCURRENT", "WORKER_", "OPERATOR_NAME")
"""What of the tester's own environment an operator must not see."""


def bare_environment() -> dict[str, str]:
    """The tester's environment without what could change an operator's behaviour; ansible is on its PATH."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(BARE)}
    return {**kept, "PATH": f"{Path(sys.executable).parent}:{kept.get('PATH', os.defpath)}"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def own_flags(command: tuple[str, ...]) -> tuple[str, ...]:
    """Flags that let several of these operators run side by side, where the executable knows them.

    The Go operator's user metrics API has a fixed port, so of those only one can run at a time.
    """
    return known_flags(command, "--user-metrics-bind-address=0")


def known_flags(command: tuple[str, ...], *flags: str) -> tuple[str, ...]:
    """Those of the flags that the executable knows."""
    return tuple(flag for flag in flags if flag.partition("=")[0] in _help_of_run(command))


@cache
def _help_of_run(command: tuple[str, ...]) -> str:
    asked = [*command, "run", "--help"]
    shown = subprocess.run(asked, env=bare_environment(), capture_output=True, text=True, timeout=120, check=False)
    return shown.stdout


class Operator:
    """`<command> run <flags>` in the directory `project`; what it prints goes to files in `work`."""

    def __init__(
        self,
        command: tuple[str, ...],
        project: Path,
        work: Path,
        flags: tuple[str, ...],
        environment: Mapping[str, str],
    ) -> None:
        self.health, self.metrics, self.proxy = free_port(), free_port(), free_port()
        self.out, self.err = work / "stdout", work / "stderr"
        work.mkdir(parents=True, exist_ok=True)
        ports = (
            f"--health-probe-bind-address=127.0.0.1:{self.health}",
            f"--metrics-bind-address=127.0.0.1:{self.metrics}",
            f"--proxy-port={self.proxy}",
        )
        given = {flag.partition("=")[0] for flag in flags}
        usual = [flag for flag in ports if flag.partition("=")[0] not in given]
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self._process = subprocess.Popen(
                [*command, "run", *own_flags(command), *usual, *flags],
                cwd=project,
                env={**bare_environment(), **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def is_ready(self) -> bool:
        return not self.alive or self.ask(self.health, "/readyz")[0] == 200

    def ask(self, port: int, path: str) -> tuple[int, str]:
        """Status and text of a GET on one of its ports; status 0 while nothing listens there."""
        with urllib3.HTTPConnectionPool("127.0.0.1", port, retries=False, timeout=10) as pool:
            try:
                answer = pool.request("GET", path)
            except (urllib3.exceptions.HTTPError, OSError):
                return 0, ""
            return answer.status, answer.data.decode(errors="replace")

    def signal(self, number: signal.Signals) -> None:
        if self.alive:
            self._process.send_signal(number)

    def ended(self, seconds: float = 60.0) -> int | None:
        """Its exit code; None, and it is killed, when it does not end in time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None

    def stop(self) -> int | None:
        self.signal(signal.SIGTERM)
        return self.ended()

    def stdout(self) -> str:
        return self.out.read_text(errors="replace")

    def printed(self) -> str:
        """What it prints of runs: text on stdout, or records whose field `stdout` is the text."""
        blocks = [record for record in self.records() if "stdout" in record]
        return self.stdout() + "".join(f"\n{_title(record)}{record['stdout']}\n" for record in blocks)

    def stderr(self) -> str:
        return self.err.read_text(errors="replace")

    def records(self) -> list[dict[str, Any]]:
        """Its structured log."""
        found = []
        for line in self.stderr().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                found.append(record)
        return found


def _title(block: Mapping[str, str]) -> str:
    """What stands above the text of such a record where it is printed as text."""
    if task := block.get("EventData.Task"):
        return f" TASK [{task}] {'*' * 32} \n"
    return f"{block['msg']} ({block['gvk']}, {block['name']}/{block['namespace']})\n"
