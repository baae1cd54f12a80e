"""The main job, from the outside: an operator process, a real Kubernetes API, real Ansible."""

from __future__ import annotations

from functools import partial
from textwrap import dedent

import pytest

from bench.observer import Observer, wait_for
from tests.fixtures.operators import GROUP, PATIENCE, Operate, Project, Things

pytestmark = pytest.mark.cluster

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


def test_a_custom_resource_is_reconciled_and_says_so_in_its_conditions(
    project: Project, operate: Operate, things: Things
) -> None:
    project.role("ok", OK)
    project.watch("ok")
    operate()
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
    project: Project, operate: Operate, things: Things
) -> None:
    project.role("ok", OK)
    project.watch("ok")
    operator = operate()
    things.create("first", {"text": "a"})
    things.create("other", {"text": "a"})
    things.wait("first", "Successful")
    things.patch("first", {"spec": {"text": "b"}})
    things.wait("first", "Successful")
    things.wait("other", "Successful")
    runs = [record["name"] for record in operator.records("Reconciled")]
    assert (runs.count("first"), runs.count("other")) == (2, 1)


def test_a_failing_role_is_a_failure_with_its_message_and_recovers(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    project.role("picky", FAILS_WHEN_ASKED)
    project.watch("picky")
    operate()
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


def test_a_dependent_that_is_deleted_or_edited_by_hand_is_put_back(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    project.role("keeper", CONFIG_MAP)
    project.watch("keeper")
    operate()
    body = things.create("first", {"text": "mine"})
    things.wait("first", "Successful")
    child = observer.get("v1", "ConfigMap", "first") or {}
    assert child["metadata"]["ownerReferences"] == [
        {"apiVersion": GROUP, "kind": "Thing", "name": "first", "uid": body["metadata"]["uid"]}
    ]
    observer.delete("v1", "ConfigMap", "first")
    wait_for("the ConfigMap to be back", lambda: observer.get("v1", "ConfigMap", "first"), seconds=PATIENCE)
    observer.patch("v1", "ConfigMap", "first", {"data": {"text": "yours"}})
    wait_for("the edit to be undone", lambda: _text(observer, "first") == "mine", seconds=PATIENCE)


def test_the_runs_own_writes_start_no_further_run(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    project.role("keeper", CONFIG_MAP)
    project.watch("keeper")
    operator = operate()
    for text in ("a", "b", "c"):
        if text == "a":
            things.create("first", {"text": text})
        else:
            things.patch("first", {"spec": {"text": text}})
        things.wait("first", "Successful")
        wait_for(f"the text {text}", partial(_has_text, observer, "first", text), seconds=PATIENCE)
    things.create("marker", {"text": "last"})
    things.wait("marker", "Successful")
    assert [record["name"] for record in operator.records("Reconciled")].count("first") == 3


def test_it_runs_again_on_its_period(project: Project, operate: Operate, things: Things) -> None:
    project.role("ok", OK)
    project.watch("ok", reconcilePeriod="1s")
    operator = operate()
    things.create("first")
    wait_for("three runs", lambda: len(list(operator.records("Reconciled"))) >= 3, seconds=PATIENCE)


def test_a_role_may_write_status_fields_of_its_own(project: Project, operate: Operate, things: Things) -> None:
    project.role(
        "writer",
        """
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
                  "test.example.com", "v1", sys.argv[1], "things", "first", {"status": {"mine": {"kept": [1, 2]}}})
        """,
    )
    project.watch("writer")
    operate()
    things.create("first")
    status = things.wait("first", "Successful")["status"]
    assert status["mine"] == {"kept": [1, 2]}


def test_what_a_role_publishes_becomes_status_by_the_watchs_map(
    project: Project, operate: Operate, things: Things
) -> None:
    project.role(
        "publisher",
        """
        - name: Publish what was found
          ansible.builtin.set_stats:
            data: {found: {names: [a, b]}}
        """,
    )
    project.watch("publisher", status={"names": "data.found.names", "absent": "data.nothing"})
    operate()
    things.create("first")
    status = things.wait("first", "Successful")["status"]
    assert (status["names"], "absent" in status) == (["a", "b"], False)


def test_a_kind_without_status_subresource_is_reconciled_all_the_same(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    project.role("keeper", CONFIG_MAP)
    project.watch("keeper", kind="Plain")
    operate()
    things.create("first", {"text": "here"}, kind="Plain")
    wait_for("its ConfigMap", lambda: _text(observer, "first") == "here", seconds=PATIENCE)


def test_an_unmanaged_status_is_left_alone(project: Project, operate: Operate, things: Things) -> None:
    project.role("ok", OK)
    project.watch("ok", manageStatus=False)
    operator = operate()
    things.create("first")
    wait_for("its run", lambda: any(operator.records("Reconciled")), seconds=PATIENCE)
    assert things.status("first") == {}


def test_a_finalizer_runs_before_the_object_is_gone(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    keep = CONFIG_MAP.replace('"{{ text }}"', "\"{{ farewell | default('here') }}\"")
    go_on = project / "go-on"
    wait = f"- wait_for: {{path: {go_on}, sleep: 1}}\n  when: farewell is defined\n"
    project.role("keeper", f"{dedent(keep)}\n{wait}")
    project.watch("keeper", finalizer={"name": "test.example.com/bye", "vars": {"farewell": "gone"}})
    operate()
    things.create("first")
    things.wait("first", "Successful")
    assert things.get("first")["metadata"]["finalizers"] == ["test.example.com/bye"]
    things.delete("first")
    wait_for("the finalizer's run", lambda: _text(observer, "first") == "gone", seconds=PATIENCE)
    assert things.get("first")
    go_on.touch()
    wait_for("the object to be gone", lambda: not things.get("first"), seconds=PATIENCE)


def test_a_cluster_scoped_resource_has_no_namespace(
    project: Project, operate: Operate, things: Things, namespace: str
) -> None:
    project.role("ok", OK)
    project.watch("ok", kind="Realm")
    operate()
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
