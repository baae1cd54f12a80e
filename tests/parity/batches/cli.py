"""The command line by itself: short processes, none of which becomes an operator."""

from __future__ import annotations

import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.parity.operator import bare_environment, free_port, own_flags
from tests.parity.stage import Stage

COMMANDS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "help": ("help",),
    "-h": ("-h",),
    "version": ("version",),
    "--version": ("--version",),
    "unknown command": ("walk",),
    "unknown flag": ("run", "--frob"),
    "bad bool": ("run", "--inject-owner-ref=maybe"),
    "bad int": ("run", "--ansible-verbosity=many"),
    "bare duration": ("run", "--reconcile-period=30"),
    "days": ("run", "--reconcile-period=1d"),
    "empty duration": ("run", "--reconcile-period="),
    "spaced duration": ("run", "--reconcile-period=1h 30m"),
    "bad encoder": ("run", "--zap-encoder=yaml"),
    "bad level": ("run", "--zap-log-level=loud"),
    "level 0": ("run", "--zap-log-level=0"),
    "bad stacktrace": ("run", "--zap-stacktrace-level=debug"),
    "bad time": ("run", "--zap-time-encoding=unix"),
    **{f"completion {shell}": ("completion", shell) for shell in ("bash", "zsh", "fish", "powershell")},
    "no election id": ("run", "--leader-elect", "--leader-election-namespace=default"),
    "no election namespace": ("run", "--leader-elect", "--leader-election-id=x"),
    "both elections": ("run", "--leader-elect", "--enable-leader-election", "--leader-election-id=x"),
    "rbac alone": ("run", "--metrics-require-rbac"),
    "both metrics": ("run", "--metrics-addr=:1", "--metrics-bind-address=:2"),
}
ACCEPTED: dict[str, tuple[str, ...]] = {
    "two words": ("--reconcile-period", "1h30m"),
    "positional": ("more", "words"),
    "bool alone": ("--inject-owner-ref", "false"),
    "bools": ("--inject-owner-ref=T", "--zap-devel=0"),
    "durations": ("--reconcile-period=.5s", "--graceful-shutdown-timeout=-5s"),
    "zero": ("--reconcile-period=0",),
    "strings": ("--ansible-args=-e a=b", "--ansible-roles-path=/x", "--ansible-collections-path=/y"),
    "numbers": ("--max-concurrent-reconciles=-1", "--ansible-verbosity=99"),
    "log events": ("--ansible-log-events=loud",),
    "zap": ("--zap-devel", "--zap-encoder=console", "--zap-log-level=5"),
    "zap stacktrace": ("--zap-stacktrace-level=panic",),
    "zap time": ("--zap-time-encoding=rfc3339nano",),
    "metrics-addr": ("--metrics-addr=0",),
    "leader": ("--leader-elect=false", "--leader-election-id=x", "--leader-election-namespace=y"),
    "leader durations": ("--leader-elect-lease-duration=20s", "--leader-elect-renew-deadline=15s"),
    "leader deprecated": ("--enable-leader-election=false", "--leader-elect-resource-lock=leases"),
    "metrics secure": ("--metrics-secure", "--metrics-require-rbac", "--enable-http2"),
}
"""Flags of `run` that are fine: it gets as far as the proxy's port, which is taken."""


def observe(stage: Stage, facts: dict[str, Any]) -> None:
    stage.write("watches.yaml", "[]")
    with socket.create_server(("127.0.0.1", 0)) as taken, ThreadPoolExecutor(2) as threads:
        port = taken.getsockname()[1]
        wanted = dict(COMMANDS)
        wanted |= {name: ("run", *usual(stage, port, words), *words) for name, words in ACCEPTED.items()}
        wanted |= busy(stage, port)
        for name, seen in threads.map(lambda item: (item[0], call(stage, *item[1])), wanted.items()):
            facts[name] = {**seen, "reached the port": str(port) in seen["err"] + seen["out"]}
        facts["no kubeconfig"] = call(stage, "run", *usual(stage, port, ()), KUBECONFIG="", HOME=str(stage.work))
        facts["bad kubeconfig"] = call(stage, "run", *usual(stage, port, ()), KUBECONFIG="/nowhere/kubeconfig")
        facts["no watches"] = call(stage, "run", *usual(stage, port, ()), "--watches-file=none.yaml")


def usual(stage: Stage, port: int, words: tuple[str, ...]) -> tuple[str, ...]:
    quiet = () if any(word.startswith("--metrics-") for word in words) else ("--metrics-bind-address=0",)
    return (
        f"--proxy-port={port}",
        f"--health-probe-bind-address=127.0.0.1:{free_port()}",
        *quiet,
        *own_flags(stage.command),
    )


def busy(stage: Stage, port: int) -> dict[str, tuple[str, ...]]:
    """Each of the three ports taken, the others free."""
    free = {"metrics-bind-address": "0", "health-probe-bind-address": "0", "proxy-port": str(free_port())}
    taken = {"metrics-bind-address": f"127.0.0.1:{port}", "health-probe-bind-address": f"127.0.0.1:{port}"}
    taken["proxy-port"] = str(port)
    return {
        f"busy {name}": (
            "run",
            *own_flags(stage.command),
            *(f"--{flag}={value}" for flag, value in (free | {name: text}).items()),
        )
        for name, text in taken.items()
    }


def call(stage: Stage, *words: str, **environment: str) -> dict[str, Any]:
    ended = subprocess.run(
        [*stage.command, *words],
        cwd=stage.project,
        env={**bare_environment(), "KUBECONFIG": str(stage.kubeconfig), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return {"code": ended.returncode, "out": ended.stdout, "err": ended.stderr}
