"""`dev run`: the operator of a project on the local control plane, which follows what its author saves."""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from runner.commands.manifests import Manifests
from runner.commands.reloading import Mistakes, run_reloading
from runner.config.contentfiles import Watches
from runner.config.settings import ClusterSettings, Settings, read_settings
from runner.config.watchesfile import load_watches
from runner.control.board import Board
from runner.dev import cli
from runner.dev.components import Options
from runner.dev.controlplane import ControlPlane
from runner.kube.apply import Applier
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.logs import configure_logs, everything_logged

SAMPLES = ("config/samples", "crds/samples", "deploy/samples", "samples", "examples")
"""Where samples are looked for, to say how they are applied."""
_LOCAL = "127.0.0.1"


def run(environment: Mapping[str, str], parsed: argparse.Namespace) -> int:
    """The exit code. Raises OperatorError, also DevError where there is no control plane to be had."""
    settings = read_settings(parsed, environment, terminal=sys.stderr.isatty())
    watches, notes = load_watches(settings.watches_file, Path.cwd(), settings.environment)
    for note in notes:
        sys.stderr.write(f"Warning: {note}\n")
    plane = cli.start(parsed, Options())
    settings = on_plane(settings, plane.kubeconfig)
    by_kind = {watch.gvk: watch for watch in watches}
    drawn = sys.stdout.isatty() and environment.get("TERM") != "dumb" and not parsed.plain
    if drawn and find_spec("rich") is None:
        sys.stderr.write("A live table needs rich: pip install 'ansible-operator-runner[local]'; lines instead\n")
        drawn = False
    try:
        if drawn:
            return asyncio.run(_drawn(settings, by_kind, plane, samples=parsed.samples))
        return asyncio.run(_plain(settings, by_kind, plane, samples=parsed.samples))
    finally:
        sys.stdout.write(f"The control plane stays up; `ansible-operator dev down{_which(parsed)}` ends it\n")


def on_plane(settings: Settings, kubeconfig: Path) -> Settings:
    """The settings of an operator on this machine, of which others may run: it listens where nobody else does."""
    return replace(
        settings,
        cluster=ClusterSettings(kubeconfig=str(kubeconfig)),
        proxy_port=0,
        metrics_bind_address="0",
        health_probe_bind_address="0",
        user_metrics_bind_address=_user_metrics(settings.user_metrics_bind_address),
        leader_elect=False,
        log_encoder="console",
    )


def _user_metrics(address: str) -> str:
    """Where modules send metrics to, unless another operator listens there."""
    with socket.socket() as probe:
        try:
            probe.bind((_LOCAL, int(address.rpartition(":")[2])))
        except OSError:
            return "0"
    return address


def _which(parsed: argparse.Namespace) -> str:
    if parsed.dir:
        return f" --dir {parsed.dir}"
    return f" --name {parsed.name}" if parsed.name != "default" else ""


def apply_samples(project: Path, kubeconfig: Path) -> str:
    """The command line that applies the project's samples, or any file if it has none."""
    place = next((name for name in SAMPLES if (project / name).is_dir()), "")
    how = f"-k {place}" if (project / place / "kustomization.yaml").exists() and place else f"-f {place or 'FILE'}"
    return f"kubectl --kubeconfig {kubeconfig} apply {how}"


async def _plain(settings: Settings, watches: Watches, plane: ControlPlane, *, samples: bool) -> int:
    configure_logs(settings.log_level, "console", colors=settings.log_colors)
    sys.stdout.write(f"export KUBECONFIG={plane.kubeconfig}\n")
    if not samples:
        sys.stdout.write(f"{apply_samples(Path.cwd(), plane.kubeconfig)}\n")
    sys.stdout.flush()
    mistakes = Mistakes()
    async with AsyncExitStack() as stack:
        manifests = await _manifests(stack, settings, mistakes, samples=samples)
        return await run_reloading(settings, watches, None, manifests, mistakes)


async def _drawn(settings: Settings, watches: Watches, plane: ControlPlane, *, samples: bool) -> int:
    from runner.commands.screen import Notices, Screen  # noqa: PLC0415  (it takes rich, which may not be there)

    file, notices = plane.layout.operator_log, Notices()
    head = [f"export KUBECONFIG={plane.kubeconfig}", f"log: {file}"]
    empty = f"No custom resources yet. {apply_samples(Path.cwd(), plane.kubeconfig)}"
    board = Board(Path.cwd())
    screen = Screen(board, notices, head, empty)
    board.on_change = screen.changed
    with ExitStack() as files:
        log = files.enter_context(file.open("w", encoding="utf-8"))
        configure_logs(settings.log_level, "console", log, notice=notices)
        files.enter_context(everything_logged())
        mistakes = Mistakes(board)
        async with AsyncExitStack() as stack:
            manifests = await _manifests(stack, settings, mistakes, samples=samples)
            await stack.enter_async_context(screen.open())
            return await run_reloading(settings, watches, board, manifests, mistakes, screen.give_back)


async def _manifests(stack: AsyncExitStack, settings: Settings, mistakes: Mistakes, *, samples: bool) -> Manifests:
    client = await Client.connect(settings.cluster)
    stack.push_async_callback(client.close)
    applier, told = Applier(client, Discovery(client)), partial(mistakes, by="manifests")
    return Manifests(Path.cwd(), applier, told, settings.environment, samples=samples)
