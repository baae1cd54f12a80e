"""`run-once` as a user runs it: one reconcile, shown as a play, and nothing but that."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.observer import Observer
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import Project, Things

pytestmark = pytest.mark.cluster

FINALIZER = "test.example.com/bye"
ROLE = """
    - name: Keep the greeting
      kubernetes.core.k8s:
        definition:
          apiVersion: v1
          kind: ConfigMap
          metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}
          data: {greeting: "{{ greeting }}"}
    - name: Fail if asked
      ansible.builtin.fail: {msg: not that}
      when: greeting == 'bad'
"""
Once = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def once(control_plane: ControlPlane, project: Project, namespace: str, tmp_path: Path) -> Once:
    project.role("greet", ROLE)
    project.role("bye", "- {name: Say goodbye, ansible.builtin.debug: {msg: bye}}")
    project.watch("greet", finalizer={"name": FINALIZER, "role": "bye"})

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        where = ["-n", namespace, "--kubeconfig", str(control_plane.kubeconfig)]
        return subprocess.run(
            [sys.executable, "-m", "runner", "run-once", *words, *where, "--runner-dir", str(tmp_path / "runs")],
            cwd=project.path,
            env={**os.environ, "ANSIBLE_GATHERING": "explicit"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def greeting(observer: Observer, name: str) -> str | None:
    found = observer.get("v1", "ConfigMap", name)
    return found["data"]["greeting"] if found else None


def test_one_reconcile_is_shown_and_written(once: Once, things: Things) -> None:
    things.create("a", {"greeting": "hello"})

    ended = once("thing", "a")

    assert ended.returncode == 0, ended.stderr
    assert "TASK [greet : Keep the greeting] ***" in ended.stdout
    assert "PLAY RECAP ***" in ended.stdout
    assert ended.stderr.endswith("/a: reconciled\n")
    assert things.condition("a", "Successful")["status"] == "True"
    dependent = things.observer.get("v1", "ConfigMap", "a") or {}
    assert dependent["metadata"]["ownerReferences"][0]["uid"] == things.get("a")["metadata"]["uid"]


def test_check_mode_writes_nothing(once: Once, things: Things) -> None:
    before = things.create("a", {"greeting": "hello"})

    ended = once("things", "a", "--check", "--diff")

    assert ended.returncode == 0, ended.stderr
    assert "changed: [localhost]" in ended.stdout
    assert greeting(things.observer, "a") is None
    assert things.get("a")["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_task_that_writes_all_the_same_is_refused_in_check_mode(
    once: Once, things: Things, project: Project
) -> None:
    project.role(
        "greet", ROLE.replace("- name: Keep the greeting", "- name: Keep the greeting\n      check_mode: false")
    )
    things.create("a", {"greeting": "hello"})

    ended = once("Thing", "a", "--check")

    assert ended.returncode == 2
    assert "check mode: the API proxy lets nothing pass" in ended.stdout
    assert greeting(things.observer, "a") is None


def test_play_that_fails_ends_with_2_and_its_cause(once: Once, things: Things) -> None:
    things.create("a", {"greeting": "bad"})

    ended = once("thing", "a")

    assert (ended.returncode, "not that" in ended.stderr) == (2, True)
    assert things.condition("a", "Failure")["status"] == "True"
    assert [event["message"] for event in things.observer.list("v1", "Event")] == ["not that"]


def test_object_that_is_being_deleted_gets_its_finalizer(once: Once, things: Things) -> None:
    things.create("a", {"greeting": "hello"}, finalizers=[FINALIZER])
    things.delete("a")

    ended = once("thing", "a")

    assert (ended.returncode, "TASK [bye : Say goodbye]" in ended.stdout) == (0, True)
    assert things.get("a") == {}


def test_object_that_is_not_there_is_said_to_be_missing(once: Once, things: Things) -> None:
    ended = once("thing", "nobody")

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"Error: there is no Thing {things.observer.namespace}/nobody")
