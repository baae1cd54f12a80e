"""Ctrl-C: at any moment of the start it ends the operator in silence; later it says what is waited for."""

from __future__ import annotations

import time
from pathlib import Path
from textwrap import dedent

import pytest

from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import Project, Things
from tests.fixtures.terminal import Terminal

AWAY = """
{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
 clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: u, user: {}}]}
"""
IMPORTING = """
    import os, signal, sys

    class Presses:
        def find_spec(self, name, *_):
            if name == os.environ["PRESS_AT"] and "run" in sys.orig_argv:
                sys.meta_path.remove(self)
                os.killpg(0, signal.SIGINT)

    sys.meta_path.insert(0, Presses())
"""
IN_ZYGOTE = """
    import os, signal, sys

    if any("server import start" in word for word in sys.orig_argv):
        os.killpg(os.getpgid(os.getppid()), signal.SIGINT)
        import time
        time.sleep(0.2)  # an interrupt of this process, too, would come meanwhile
"""


def start(project: Project, tmp_path: Path, site: str, **environment: str) -> Terminal:
    """An operator for a cluster that is away, whose Pythons begin with `site`."""
    project.role("slow", "[]")
    project.watch("slow")
    (tmp_path / "sitecustomize.py").write_text(dedent(site))
    (tmp_path / "away").write_text(AWAY)
    return Terminal(project.path, tmp_path / "away", tmp_path, PYTHONPATH=str(tmp_path), **environment)


@pytest.mark.parametrize("module", ["argparse", "structlog", "runner.cli", "runner.manager", "aiohttp", "kopf"])
def test_during_an_import_it_ends_the_operator_without_a_traceback(
    project: Project, tmp_path: Path, module: str
) -> None:
    with start(project, tmp_path, IMPORTING, PRESS_AT=module) as terminal:
        assert terminal.ended() in (-2, 0)
        assert not terminal.lines("Traceback")


def test_while_zygotes_start_it_is_for_the_operator_alone(project: Project, tmp_path: Path) -> None:
    with start(project, tmp_path, IN_ZYGOTE) as terminal:
        assert terminal.ended() in (0, 1)  # both zygotes press it
        assert not terminal.lines("Traceback")
        assert not terminal.lines("KeyboardInterrupt")


@pytest.mark.cluster
def test_it_says_what_is_waited_for_and_again_it_ends_it_at_once(
    project: Project, control_plane: ControlPlane, namespace: str, things: Things, tmp_path: Path
) -> None:
    project.role("slow", "- {name: Sleep, ansible.builtin.command: sleep 300}")
    project.watch("slow")
    kubeconfig = control_plane.kubeconfig
    with Terminal(project.path, kubeconfig, tmp_path, WATCH_NAMESPACE=namespace) as terminal:
        things.create("one")
        terminal.wait("/one: running ")
        terminal.ctrl_c()
        terminal.wait(f"Stopping: waiting for Thing {namespace}/one (for ")
        assert terminal.lines("for 30 s at most; Ctrl-C again ends it at once")
        pressed = time.monotonic()
        terminal.ctrl_c()
        assert terminal.ended() == 1
        assert time.monotonic() - pressed < 5
