"""`runs`, beside a real operator: what it says of runs that real changes led to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.observer import wait_for
from runner.dev.api import Api
from tests.fixtures.operators import Project, Share, SharedOperator, Things

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400), pytest.mark.xdist_group("runs")]

PATIENCE = 90.0
CANARY = "tell-nobody"
ROLE = """
- name: Have a dependent
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}
      data: {size: "{{ size | default(1) | string }}"}
- name: Know a secret
  ansible.builtin.fail:
    msg: CANARY
  no_log: true
  ignore_errors: true
- name: Wait for the gate
  ansible.builtin.wait_for:
    path: "{{ gate }}"
    timeout: 60
  when: gate is defined
- name: Break
  ansible.builtin.command: ls /nowhere/at/all
  when: broken | default(false)
"""

Runs = Callable[..., str]


def write(project: Project) -> None:
    project.role("past", ROLE.replace("CANARY", CANARY))
    project.watch("past", "Past", reconcilePeriod="1h")


@pytest.fixture(scope="module")
def shared(share: Share) -> SharedOperator:
    return share(write)


@pytest.fixture
def things(things: Things) -> Things:
    return things.of("Past")


@pytest.fixture
def runs(shared: SharedOperator, tmp_path: Path) -> Runs:
    """Types `ansible-operator runs` elsewhere, where nothing leads to a cluster, and gives what it prints."""

    def run(*words: str) -> str:
        ended = subprocess.run(
            [sys.executable, "-m", "runner", "runs", *words],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout

    return run


def test_a_run_that_an_edit_of_a_dependent_led_to_names_object_manager_and_field(
    runs: Runs, shared: SharedOperator, things: Things, admin: Api, namespace: str
) -> None:
    things.create("first")
    things.wait("first", "Successful", seconds=PATIENCE)
    wait_for("it to be watched", lambda: "/v1, Kind=ConfigMap" in watched(shared), seconds=PATIENCE)
    path = f"/api/v1/namespaces/{namespace}/configmaps/first"
    _, dependent = admin.call("GET", path)
    admin.call("PUT", f"{path}?fieldManager=kubectl-edit", {**dependent, "data": {"size": "9"}})

    sentence = f"ConfigMap {namespace}/first changed by kubectl-edit: data.size"
    wait_for("the Event", lambda: sentence in messages(things), seconds=PATIENCE)
    wait_for("the run to end", lambda: len(shared.reconciles(namespace)) == 2, seconds=PATIENCE)
    edited, created = of(runs, namespace, "succeeded")
    assert (edited["because"], created["because"][0][:7]) == ([sentence], "created")

    assert edited["watches"] == str(shared.project / "watches.yaml")

    table = runs("pasts", "first", "-n", namespace).splitlines()
    assert [line.endswith("Have a dependent") for line in table] == [False, True, True]
    assert sentence in table[1]
    shown = runs("show", edited["id"][:12])
    assert f"  because  {sentence}\n" in shown
    assert "  changed" in shown
    assert "  ignored" in shown
    assert CANARY not in shown + runs("show", edited["id"], "-o", "json") + runs("-n", namespace, "-o", "json")


def test_a_run_is_running_until_it_has_failed_at_a_line_for_a_reason(
    runs: Runs, things: Things, namespace: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    things.create("second", {"gate": str(gate), "broken": True})
    things.wait("second", "Running", seconds=PATIENCE)
    (run,) = wait_for("a run under way", lambda: of(runs, namespace, "running"), seconds=PATIENCE)
    wait_for("its task", lambda: "running" in task_line(runs, run["id"], "Wait for the gate"), seconds=PATIENCE)
    gate.touch()
    things.wait("second", "Failure", seconds=PATIENCE)
    failed = wait_for("its failure", lambda: of(runs, namespace, "failed"), seconds=PATIENCE)
    assert failed[-1]["id"] == run["id"]
    shown = runs("show", run["id"])
    assert "No such file or directory (Break, roles/past/tasks/main.yml:19)" in shown
    assert task_line(runs, run["id"], "Break").split()[0] == "failed"


def of(runs: Runs, namespace: str, result: str) -> list[dict[str, Any]]:
    found = json.loads(runs("-n", namespace, "-o", "json"))
    return [run for run in found if run["result"] == result]


def task_line(runs: Runs, ident: str, task: str) -> str:
    """Where `show` tells of that task; nothing if it does not."""
    return next((line for line in runs("show", ident).splitlines() if f"  {task}  " in line), "")


def watched(shared: SharedOperator) -> list[str]:
    """The kinds that have been listed, so that each later change is noticed."""
    return [record["gvk"] for record in shared.process.records("watching")]


def messages(things: Things) -> list[str]:
    return [event["message"] for event in things.observer.list("v1", "Event")]
