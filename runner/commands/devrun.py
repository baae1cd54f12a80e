"""`dev run`: the operator of a project on the local control plane, which follows what its author saves."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from runner.serve.admission import remains

SAMPLES = ("config/samples", "crds/samples", "deploy/samples", "samples", "examples")
"""Where samples are looked for, to say how they are applied."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is worked on, and where; `notes` are the harmless mistakes in watches.yaml."""

    settings: Settings
    watches: Watches
    notes: Sequence[str]
    plane: ControlPlane
    samples: bool


def run(environment: Mapping[str, str], parsed: argparse.Namespace) -> int:
    """The exit code. Raises OperatorError, also DevError where there is no control plane to be had."""
    settings = read_settings(parsed, environment, terminal=sys.stderr.isatty())
    watches, notes = load_watches(settings.watches_file, Path.cwd(), settings.environment)
    plane = cli.start(parsed, Options())
    settings = on_plane(settings, plane.kubeconfig)
    work = Work(
        settings, {watch.gvk: watch for watch in watches}, [str(note) for note in notes], plane, parsed.samples
    )
    drawn = sys.stdout.isatty() and environment.get("TERM") != "dumb" and not parsed.plain
    if drawn and find_spec("rich") is None:
        sys.stderr.write("A live table needs rich: pip install 'ansible-operator-runner[local]'; lines instead\n")
        drawn = False
    try:
        if drawn:
            return asyncio.run(_drawn(work))
        return asyncio.run(_plain(work))
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
        user_metrics_optional=True,
        leader_elect=False,
        webhooks="dev" if settings.webhooks == "auto" else settings.webhooks,
        webhook_port=0,
        log_encoder="console",
    )


def _which(parsed: argparse.Namespace) -> str:
    if parsed.dir:
        return f" --dir {parsed.dir}"
    return f" --name {parsed.name}" if parsed.name != "default" else ""


def apply_samples(project: Path, kubeconfig: Path) -> str:
    """The command line that applies the project's samples, or any file if it has none."""
    place = next((name for name in SAMPLES if (project / name).is_dir()), "")
    how = f"-k {place}" if (project / place / "kustomization.yaml").exists() and place else f"-f {place or 'FILE'}"
    return f"kubectl --kubeconfig {kubeconfig} apply {how}"


async def _plain(work: Work) -> int:
    settings, kubeconfig = work.settings, work.plane.kubeconfig
    configure_logs(settings.log_level, "console", colors=settings.log_colors)
    sys.stdout.write(f"export KUBECONFIG={kubeconfig}\n")
    if not work.samples:
        sys.stdout.write(f"{apply_samples(Path.cwd(), kubeconfig)}\n")
    sys.stdout.flush()
    return await _reload(work, Mistakes())


async def _drawn(work: Work) -> int:
    from runner.commands.screen import Notices, Screen  # noqa: PLC0415  (it takes rich, which may not be there)

    kubeconfig, file = work.plane.kubeconfig, work.plane.layout.operator_log
    board, notices = Board(Path.cwd()), Notices()
    head = [f"export KUBECONFIG={kubeconfig}", f"log: {file}"]
    empty = f"No custom resources yet. {apply_samples(Path.cwd(), kubeconfig)}"
    screen = Screen(board, notices, head, empty, work.settings.environment)
    board.on_change = screen.changed
    with file.open("w", encoding="utf-8") as log:
        configure_logs(work.settings.log_level, "console", log, notice=notices)
        with everything_logged():
            async with screen.open():
                return await _reload(work, Mistakes(board), board, screen.give_back)


async def _reload(
    work: Work, mistakes: Mistakes, board: Board | None = None, restore: Callable[[], None] = lambda: None
) -> int:
    settings = work.settings
    mistakes.harmless(str(settings.watches_file), work.notes)
    client = await Client.connect(settings.cluster)
    try:
        await remains.clear(client)
        applier, told = Applier(client, Discovery(client)), partial(mistakes, by="manifests")
        manifests = Manifests(Path.cwd(), applier, told, settings.environment, samples=work.samples)
        return await run_reloading(settings, work.watches, board, manifests, mistakes, restore)
    finally:
        await client.close()
