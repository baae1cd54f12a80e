"""Why a run took place, told by the run, its artifacts, the log and an Event; on demand, and not while paused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench.observer import condition, wait_for
from runner.dev.api import Api
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import Project, Share, SharedOperator, Things, ledger

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400), pytest.mark.xdist_group("why")]

PATIENCE = 90.0
FINALIZER = "test.example.com/bye"
WRITES = ("create", "update", "patch", "delete")
ROLE = """
- name: Write down why
  ansible.builtin.lineinfile:
    path: LEDGER
    line: "{{ {'of': ansible_operator_meta, 'run': ansible_operator_run, 'at': now() | string} | to_json }}"
    create: true
    mode: "0600"
    unsafe_writes: true
- name: Have a dependent
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}
      data: {size: "{{ size | default(1) | string }}"}
"""

Command = Callable[..., str]


def write(project: Project) -> None:
    project.role("curious", ROLE.replace("LEDGER", str(project / "ledger.jsonl")))
    project.watch(
        "curious", "Curious", reconcilePeriod="1h", finalizer={"name": FINALIZER, "vars": {"leaving": True}}
    )


@pytest.fixture(scope="module")
def shared(share: Share) -> SharedOperator:
    return share(write)


@pytest.fixture
def things(things: Things) -> Things:
    return things.of("Curious")


@pytest.fixture
def command(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Command:
    """Runs `ansible-operator` as a person does, and gives what it says."""

    def run(*words: str) -> str:
        ended = subprocess.run(
            [sys.executable, "-m", "runner", *words, "-n", namespace],
            cwd=tmp_path,
            env={**os.environ, "KUBECONFIG": str(control_plane.kubeconfig)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    return run


Runs = Callable[[str], list[dict[str, Any]]]


@pytest.fixture
def runs(shared: SharedOperator, namespace: str) -> Runs:
    """Gives what each run of the object of that name was told of itself."""

    def read(name: str) -> list[dict[str, Any]]:
        lines = ledger(shared.project / "ledger.jsonl")
        return [line["run"] for line in lines if line["of"] == {"namespace": namespace, "name": name}]

    return read


def triggers(run: dict[str, Any]) -> list[str]:
    return [reason["trigger"] for reason in run["reasons"]]


def test_a_run_because_of_a_dependent_names_who_changed_it_and_what(
    shared: SharedOperator, runs: Runs, things: Things, admin: Api, namespace: str
) -> None:
    things.create("first")
    things.wait("first", "Successful", seconds=PATIENCE)
    (created,) = runs("first")
    assert (triggers(created), created["attempt"], created["previous"]) == (["created"], 1, "")

    path = f"/api/v1/namespaces/{namespace}/configmaps/first"
    wait_for("it to be watched", lambda: "/v1, Kind=ConfigMap" in watched(shared), seconds=PATIENCE)
    _, dependent = admin.call("GET", path)
    status, answer = admin.call("PUT", f"{path}?fieldManager=kubectl-edit", {**dependent, "data": {"size": "9"}})
    assert status == 200, answer
    wait_for("another run", lambda: len(runs("first")) == 2, seconds=PATIENCE)

    told = runs("first")[1]
    (reason,) = told["reasons"]
    assert reason.pop("time").endswith("Z")
    assert reason == {
        "trigger": "dependent",
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": namespace,
        "name": "first",
        "manager": "kubectl-edit",
        "fields": ["data.size"],
    }
    assert (told["attempt"], told["previous"]) == (2, "succeeded")

    sentence = f"ConfigMap {namespace}/first changed by kubectl-edit: data.size"
    records = wait_for("the log", lambda: shared.reconciles(namespace)[1:], seconds=PATIENCE)
    assert records[0]["reasons"] == [sentence]
    wait_for("the Event", lambda: ("DependentChanged", sentence) in events(things), seconds=PATIENCE)
    (about,) = [
        found
        for file in shared.process.runner_dir.rglob(f"{namespace}/first/artifacts/*/run.json")
        if not file.parent.is_symlink() and (found := json.loads(file.read_text()))["attempt"] == 2
    ]
    assert (about["reasons"][0]["manager"], about["engine"] in ("warm", "cold")) == ("kubectl-edit", True)


def watched(shared: SharedOperator) -> list[str]:
    """The kinds that have been listed, so that each later change is noticed."""
    return [record["gvk"] for record in shared.process.records("watching")]


def events(things: Things) -> list[tuple[str, str]]:
    return [(event["reason"], event["message"]) for event in things.observer.list("v1", "Event")]


def test_a_paused_object_is_left_alone_and_runs_once_when_it_is_resumed(
    runs: Runs, things: Things, command: Command, control_plane: ControlPlane
) -> None:
    things.create("first")
    things.wait("first", "Successful", seconds=PATIENCE)
    assert command("pause", "curiouss", "first").endswith("is paused until it is resumed")
    wait_for("the condition", lambda: things.condition("first", "Paused"), seconds=PATIENCE)
    assert things.condition("first", "Paused")["status"] == "True"

    offset = control_plane.audit_log.stat().st_size
    assert "but is paused" in command("reconcile", "curious", "first")
    things.observer.patch("v1", "ConfigMap", "first", {"data": {"size": "other"}})
    for size in (2, 3):
        things.patch("first", {"spec": {"size": size}})
        wait_for("the change to be seen", partial(seen_while_paused, things, "first"), seconds=PATIENCE)
    assert len(runs("first")) == 1
    written = writes(control_plane.audit_log, offset, things.observer.namespace, "first")
    ours = [("patch", "")] * 4
    assert sorted(written) == [*ours, ("update", "status"), ("update", "status")]  # the condition, each generation

    command("resume", "Curious.test.example.com", "first")
    things.wait("first", "Successful", seconds=PATIENCE)
    assert things.condition("first", "Paused")["status"] == "False"
    assert triggers(runs("first")[1]) == ["annotated"]

    command("reconcile", "curiouss.v1.test.example.com", "first")
    wait_for("the run that was asked for", lambda: len(runs("first")) >= 3, seconds=PATIENCE)
    assert triggers(runs("first")[2]) == ["requested"]
    things.create("second")
    things.wait("second", "Successful", seconds=PATIENCE)
    assert len(runs("first")) == 3


def seen_while_paused(things: Things, name: str) -> bool:
    body = things.get(name)
    return bool(condition(body, "Paused")["observedGeneration"] == body["metadata"]["generation"])


def test_a_paused_object_that_is_deleted_stays_as_it_is_until_it_is_resumed(
    runs: Runs, things: Things, command: Command, control_plane: ControlPlane
) -> None:
    things.create("first")
    things.wait("first", "Successful", seconds=PATIENCE)
    command("pause", "curious", "first")
    wait_for("the condition", lambda: things.condition("first", "Paused"), seconds=PATIENCE)

    offset = control_plane.audit_log.stat().st_size
    things.delete("first")
    things.create("second")
    things.wait("second", "Successful", seconds=PATIENCE)
    body = things.get("first")
    assert (body["metadata"]["finalizers"], len(runs("first"))) == ([FINALIZER], 1)
    written = writes(control_plane.audit_log, offset, things.observer.namespace, "first")
    assert sorted(written) == [("delete", ""), ("update", "status")]  # the condition, of the new generation

    command("resume", "curious", "first")
    wait_for("it to be gone", lambda: not things.get("first"), seconds=PATIENCE)
    assert len(runs("first")) == 2


def writes(log: Path, offset: int, namespace: str, name: str) -> list[tuple[str, str]]:
    """Verb and subresource of what was written since, of all objects of that name."""
    with log.open("rb") as file:
        file.seek(offset)
        found = [json.loads(line) for line in file.read().decode().split("\n")[:-1]]
    about = [(event["verb"], event.get("objectRef", {}), event["stage"]) for event in found]
    return [
        (verb, ref.get("subresource", ""))
        for verb, ref, stage in about
        if (ref.get("namespace"), ref.get("name"), stage) == (namespace, name, "ResponseComplete")
        and verb in WRITES
    ]


def test_a_pause_ends_at_its_moment_by_itself(runs: Runs, things: Things) -> None:
    until = (datetime.now(UTC) + timedelta(seconds=5)).isoformat()
    things.create("first", annotations={"ansible.sdk.operatorframework.io/paused": until})
    paused = wait_for("the condition", lambda: things.condition("first", "Paused"), seconds=PATIENCE)
    assert (paused["status"], until in paused["message"]) == ("True", True)
    assert "finalizers" not in things.get("first")["metadata"]
    assert runs("first") == []

    things.wait("first", "Successful", seconds=PATIENCE)
    assert datetime.now(UTC) > datetime.fromisoformat(until)
    assert [triggers(run) for run in runs("first")] == [["annotated"]]
