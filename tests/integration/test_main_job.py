"""The main job, from the outside: an operator process, a real Kubernetes API, real Ansible."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest

from bench.observer import Observer, wait_for
from tests.fixtures.operators import GROUP, PATIENCE, Project, Share, SharedOperator, Things

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("main_job")]

OK = """
- name: Say something
  ansible.builtin.debug:
    msg: "{{ text | default('nothing') }}"
"""
FAILS_WHEN_ASKED = """
- name: Refuse a bad text
  ansible.builtin.fail:
    msg: "text {{ text }} is bad"
  when: text == 'bad'
"""
CONFIG_MAP = """
- name: Keep a ConfigMap
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: "{{ ansible_operator_meta.name }}"
        namespace: "{{ ansible_operator_meta.namespace }}"
      data:
        text: "{{ text }}"
"""
WRITES_STATUS = """
- name: Write a status field, as a role with its own client does
  ansible.builtin.command:
    argv: ["{{ ansible_playbook_python }}", "-c", "{{ program }}", "{{ ansible_operator_meta.namespace }}"]
  changed_when: true
  vars:
    program: |
      import sys
      from kubernetes import client, config
      config.load_kube_config()
      client.CustomObjectsApi().patch_namespaced_custom_object_status(
          "test.example.com", "v1", sys.argv[1], "statuswriters", "first", {"status": {"mine": {"kept": [1, 2]}}})
"""
PUBLISHES = """
- name: Publish what was found
  ansible.builtin.set_stats:
    data: {found: {names: [a, b]}}
"""
FINALIZER = "test.example.com/bye"
FAREWELL = """
- name: Wait, if it is to
  ansible.builtin.wait_for: {path: "{{ go_on }}", sleep: 1}
  when: farewell is defined
"""


def write(project: Project) -> None:
    """A kind for each role."""
    project.role("ok", OK)
    project.watch("ok", "Speaker")
    project.watch("ok", "Realm")
    project.watch("ok", "Clock", reconcilePeriod="1s")
    project.watch("ok", "Unmanaged", manageStatus=False)
    project.role("picky", FAILS_WHEN_ASKED)
    project.watch("picky", "Picky")
    project.role("keeper", CONFIG_MAP)
    project.watch("keeper", "Keeper")
    project.watch("keeper", "Plain")
    project.role("writer", WRITES_STATUS)
    project.watch("writer", "StatusWriter")
    project.role("publisher", PUBLISHES)
    project.watch("publisher", "Publisher", status={"names": "data.found.names", "absent": "data.nothing"})
    farewell = CONFIG_MAP.replace('"{{ text }}"', "\"{{ farewell | default('here') }}\"")
    project.role("leaver", f"{dedent(farewell)}{dedent(FAREWELL)}")
    project.watch("leaver", "Leaver", finalizer={"name": FINALIZER, "vars": {"farewell": "gone"}})


@pytest.fixture(scope="module")
def shared(share: Share) -> SharedOperator:
    return share(write)


@pytest.mark.usefixtures("shared")
def test_a_custom_resource_is_reconciled_and_says_so_in_its_conditions(things: Things) -> None:
    things = things.of("Speaker")
    things.create("first", {"text": "hello"})
    conditions = {item["type"]: item for item in things.wait("first", "Successful")["status"]["conditions"]}
    successful, running, failure = conditions["Successful"], conditions["Running"], conditions["Failure"]
    assert (successful["reason"], successful["message"]) == ("Successful", "Last reconciliation succeeded")
    assert (running["status"], running["reason"]) == ("True", "Successful")
    assert running["message"] == "Awaiting next reconciliation"
    assert {name: running["ansibleResult"][name] for name in ("ok", "changed", "skipped", "failures")} == {
        "ok": 1,
        "changed": 0,
        "skipped": 0,
        "failures": 0,
    }
    assert (failure["status"], failure["reason"], failure["message"]) == ("False", "", "")


def test_a_spec_change_runs_once_more_and_an_idle_object_does_not(
    shared: SharedOperator, things: Things, namespace: str
) -> None:
    things = things.of("Speaker")
    things.create("first", {"text": "a"})
    things.create("other", {"text": "a"})
    things.wait("first", "Successful")
    things.patch("first", {"spec": {"text": "b"}})
    things.wait("first", "Successful")
    things.wait("other", "Successful")
    runs = [record["name"] for record in shared.reconciles(namespace)]
    assert (runs.count("first"), runs.count("other")) == (2, 1)


@pytest.mark.usefixtures("shared")
def test_a_failing_role_is_a_failure_with_its_message_and_recovers(things: Things, observer: Observer) -> None:
    things = things.of("Picky")
    things.create("first", {"text": "bad"})
    assert things.wait("first", "Failure")["status"]
    failure = things.condition("first", "Failure")
    assert (failure["reason"], failure["message"]) == ("Failed", "text bad is bad")
    assert failure["ansibleResult"]["failures"] == 1
    things.patch("first", {"spec": {"text": "good"}})
    things.wait("first", "Successful")
    assert things.condition("first", "Failure")["status"] == "False"
    reasons = wait_for("both Events", lambda: _reasons(observer, "first", 2), seconds=PATIENCE)
    assert sorted(reasons) == ["ReconcileFailed", "Recovered"]


@pytest.mark.usefixtures("shared")
def test_a_dependent_that_is_deleted_or_edited_by_hand_is_put_back(things: Things, observer: Observer) -> None:
    things = things.of("Keeper")
    body = things.create("first", {"text": "mine"})
    things.wait("first", "Successful")
    child = observer.get("v1", "ConfigMap", "first") or {}
    assert child["metadata"]["ownerReferences"] == [
        {"apiVersion": GROUP, "kind": "Keeper", "name": "first", "uid": body["metadata"]["uid"]}
    ]
    observer.delete("v1", "ConfigMap", "first")
    wait_for("the ConfigMap to be back", lambda: observer.get("v1", "ConfigMap", "first"), seconds=PATIENCE)
    observer.patch("v1", "ConfigMap", "first", {"data": {"text": "yours"}})
    wait_for("the edit to be undone", lambda: _text(observer, "first") == "mine", seconds=PATIENCE)


def test_the_runs_own_writes_start_no_further_run(
    shared: SharedOperator, things: Things, observer: Observer, namespace: str
) -> None:
    things = things.of("Keeper")
    for text in ("a", "b", "c"):
        if text == "a":
            things.create("first", {"text": text})
        else:
            things.patch("first", {"spec": {"text": text}})
        things.wait("first", "Successful")
        wait_for(f"the text {text}", partial(_has_text, observer, "first", text), seconds=PATIENCE)
    things.create("marker", {"text": "last"})
    things.wait("marker", "Successful")
    assert [record["name"] for record in shared.reconciles(namespace)].count("first") == 3


def test_it_runs_again_on_its_period(shared: SharedOperator, things: Things, namespace: str) -> None:
    things.of("Clock").create("first")
    wait_for("three runs", lambda: len(shared.reconciles(namespace)) >= 3, seconds=PATIENCE)


@pytest.mark.usefixtures("shared")
def test_a_role_may_write_status_fields_of_its_own(things: Things) -> None:
    things = things.of("StatusWriter")
    things.create("first")
    status = things.wait("first", "Successful")["status"]
    assert status["mine"] == {"kept": [1, 2]}


@pytest.mark.usefixtures("shared")
def test_what_a_role_publishes_becomes_status_by_the_watchs_map(things: Things) -> None:
    things = things.of("Publisher")
    things.create("first")
    status = things.wait("first", "Successful")["status"]
    assert (status["names"], "absent" in status) == (["a", "b"], False)


@pytest.mark.usefixtures("shared")
def test_a_kind_without_status_subresource_is_reconciled_all_the_same(things: Things, observer: Observer) -> None:
    things.create("first", {"text": "here"}, kind="Plain")
    wait_for("its ConfigMap", lambda: _text(observer, "first") == "here", seconds=PATIENCE)


def test_an_unmanaged_status_is_left_alone(shared: SharedOperator, things: Things, namespace: str) -> None:
    things = things.of("Unmanaged")
    things.create("first")
    wait_for("its run", lambda: shared.reconciles(namespace), seconds=PATIENCE)
    assert things.status("first") == {}


@pytest.mark.usefixtures("shared")
def test_a_finalizer_runs_before_the_object_is_gone(things: Things, observer: Observer, tmp_path: Path) -> None:
    things, go_on = things.of("Leaver"), tmp_path / "go-on"
    things.create("first", {"goOn": str(go_on)})
    things.wait("first", "Successful")
    assert things.get("first")["metadata"]["finalizers"] == [FINALIZER]
    things.delete("first")
    wait_for("the finalizer's run", lambda: _text(observer, "first") == "gone", seconds=PATIENCE)
    assert things.get("first")
    go_on.touch()
    wait_for("the object to be gone", lambda: not things.get("first"), seconds=PATIENCE)


@pytest.mark.usefixtures("shared")
def test_a_cluster_scoped_resource_has_no_namespace(things: Things, namespace: str) -> None:
    name = f"realm-{namespace}"
    things.create(name, kind="Realm")
    try:
        things.wait(name, "Successful", kind="Realm")
    finally:
        things.delete(name, kind="Realm")


def _text(observer: Observer, name: str) -> str:
    return str(((observer.get("v1", "ConfigMap", name) or {}).get("data") or {}).get("text", ""))


def _has_text(observer: Observer, name: str, text: str) -> bool:
    return _text(observer, name) == text


def _reasons(observer: Observer, name: str, count: int) -> list[str]:
    events = [event for event in observer.list("v1", "Event") if event["involvedObject"]["name"] == name]
    return [event["reason"] for event in events] if len(events) >= count else []
