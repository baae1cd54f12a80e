"""The operator's log as a whole: all of it JSON where nobody reads it on a terminal, few lines where one does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.observer import Observer, wait_for
from runner.dev.api import Api
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import Operate, Project, Things, serve
from tests.fixtures.terminal import Terminal

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("log")]

SIX = """
- {name: One, ansible.builtin.command: "true"}
- {name: Two, ansible.builtin.command: "true"}
- {name: Three, ansible.builtin.command: "true"}
- {name: Four, ansible.builtin.command: "true"}
- {name: Five, ansible.builtin.command: "true"}
- name: Six
  ansible.builtin.fail: {msg: no such luck}
  when: unlucky | default(false)
"""
NOISE = """
import os, sys
if "run" in sys.orig_argv or any("server import start" in word for word in sys.orig_argv):
    import atexit, threading, warnings
    def noise():
        if "runner.manager" in sys.modules or "run" not in sys.orig_argv:
            print("printed")
            print("a line on stderr", file=sys.stderr)
            warnings.warn("a warning")
            threading.Thread(target=lambda: 1 / 0).start()
        else:
            threading.Timer(0.5, noise).start()
    threading.Timer(3.0, noise).start() if "run" in sys.orig_argv else noise()
"""
"""As `sitecustomize`, in the operator and in the processes that runs are forked from."""


def test_every_line_that_the_process_writes_is_json(
    project: Project, operate: Operate, things: Things, tmp_path: Path
) -> None:
    project.role("six", SIX)
    project.watch("six", finalizer={"name": "test.example.com/bye", "vars": {"a": 1}})
    project.watch("six", kind="Gadget", executor="cold")
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(NOISE)
    operator = operate(PYTHONPATH=str(site), ANSIBLE_DEBUG_LOGS="true")
    things.create("good")
    things.create("bad", {"unlucky": True})
    things.create("cold", kind="Gadget")
    things.wait("good", "Successful")
    things.wait("bad", "Failure")
    things.wait("cold", "Successful", kind="Gadget")
    things.delete("good")
    wait_for("the noise", lambda: any("ZeroDivisionError" in str(line) for line in operator.records()), seconds=30)
    operator.stop()

    records = [json.loads(line) for line in operator.printed().splitlines()]

    assert all({"level", "ts", "logger", "msg"} <= set(record) for record in records)
    said = {record["msg"] for record in records}
    assert {"printed", "a line on stderr", "Ansible Task StdOut", "Ansible Debug Result", "Stopped"} <= said
    failed = [record for record in records if record["msg"] == "Reconciled" and record["result"] == "failed"]
    assert failed[0]["level"] == "error"
    assert "no such luck" in failed[0]["error"]
    assert "no such luck" in Path(failed[0]["output"]).read_text()


@pytest.fixture(scope="module")
def terminal(
    control_plane: ControlPlane, kinds: Observer, admin: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terminal]:
    """An operator on a terminal, which watches all namespaces."""
    directory = tmp_path_factory.mktemp("terminal")
    project = Project(directory / "project")
    project.path.mkdir()
    project.role("six", SIX)
    project.watch("six", "Six")
    serve(kinds, admin, ["Six"])
    with Terminal(project.path, control_plane.kubeconfig, directory) as opened:
        yield opened


@pytest.fixture
def sixes(things: Things, shared_kinds: set[str]) -> Things:
    """Custom resources of the terminal's operator."""
    shared_kinds.add("Six")
    return things.of("Six")


def test_a_reconcile_of_six_tasks_is_at_most_nine_lines_on_a_terminal(terminal: Terminal, sixes: Things) -> None:
    terminal.wait("Ready")
    before = len(terminal.lines())
    sixes.create("good")
    terminal.wait("/good: succeeded")
    assert len(terminal.lines()) - before <= 9
    assert len(terminal.lines("/good: changed: ")) == 5


def test_a_failure_that_comes_again_is_a_line(terminal: Terminal, sixes: Things) -> None:
    sixes.create("bad", {"unlucky": True})
    terminal.wait("/bad: failed again, the same, 4th time, next try")
    assert len(terminal.lines("no such luck")) == 1
    assert len(terminal.lines("whole output: ")) == 1
