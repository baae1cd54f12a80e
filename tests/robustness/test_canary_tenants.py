"""Secrets and values of one tenant's namespace are found in nothing that belongs to another tenant."""

from __future__ import annotations

import base64
import json
import socket
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from kubernetes.client.exceptions import ApiException

from bench.observer import Object, Observer, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import GROUP, PATIENCE, Operate, Project, Things, definition, files_below, refusal

pytestmark = pytest.mark.cluster

KIND, OLD = "Shared", "test.example.com/v1alpha1"
SECRET_KEY, SECRET_VALUE = "canary-key-of-a-secret", "canary-value-of-a-secret"
OBJECT_KEY, OBJECT_VALUE = "canary-key-of-an-object", "canary-value-of-an-object"
SPEC, ITEM = "canary-of-a-spec", "canary-item-of-a-list"
CANARIES = (SECRET_KEY, SECRET_VALUE, OBJECT_KEY, OBJECT_VALUE, SPEC, ITEM)

SPECS = """
argument_specs:
  main:
    options:
      greeting: {type: str}
      keep: {type: list, elements: str}
      secrets: {type: raw}
      items: {type: raw}
"""
ROLE = """
- name: Keep ConfigMaps
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: "{{ ansible_operator_meta.name }}-{{ item }}"
        namespace: "{{ ansible_operator_meta.namespace }}"
      data: {greeting: "{{ greeting }}"}
  loop: "{{ keep }}"
- name: Show everything that the run was told
  ansible.builtin.debug: {var: ansible_operator_run}
"""
WATCH: dict[str, Any] = {
    "markUnsafe": True,
    "prune": True,
    "driftPeriod": "2s",
    "status": {"kept": "children[].metadata.name"},
    "admission": {"validate": True},
    "versions": {"v1alpha1": {"to": {"hello": "spec.greeting"}, "from": {"greeting": "spec.hello"}}},
    "dependents": [{"apiVersion": "v1", "kind": "ConfigMap", "reconcileOn": "data.greeting"}],
    "references": [
        {"apiVersion": "v1", "kind": "Secret", "names": "spec.secrets"},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "selector": {"matchLabels": {"app": "shared"}},
            "namespaces": "all",
        },
    ],
}


@dataclass
class Tenants:
    """Two tenants of one operator: `own` holds the canaries, `other` must not learn of them."""

    operator: OperatorProcess
    own: Things
    other: Things
    port: int

    def of_other(self) -> Iterator[tuple[str, str]]:
        """Everything that belongs to the other tenant, and what all tenants may be shown."""
        namespace = self.other.observer.namespace
        for kind in ("Event", "ConfigMap", "Secret"):
            yield f"{kind}s", json.dumps(self.other.observer.list("v1", kind))
        for version in (GROUP, OLD):
            yield version, json.dumps(self.other.observer.list(version, KIND))
        for file in files_below(self.operator.runner_dir):
            if namespace in file.parts:
                yield str(file), file.read_text(errors="replace")
        for number, line in enumerate(self.operator.log.read_text().splitlines()):
            if namespace in line:
                yield f"log line {number}", line
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            yield "metrics", answer.read().decode()

    def found(self) -> list[str]:
        words = [*CANARIES, *(base64.b64encode(word.encode()).decode() for word in CANARIES)]
        return sorted(f"{word} in {place}" for place, text in self.of_other() for word in words if word in text)

    def events(self, reason: str) -> list[str]:
        events = self.other.observer.list("v1", "Event")
        return [event["message"] for event in events if event["reason"] == reason]

    def is_checked(self) -> bool:
        return self.other.condition("b", "Drifted", KIND).get("status") == "False"


@pytest.fixture
def shared_kind(control_plane: ControlPlane) -> Iterator[None]:
    """Serves a kind in two versions, which the operator of development tells the API server to convert."""
    admin = Observer(control_plane.kubeconfig)
    body = definition(KIND)
    (version,) = body["spec"]["versions"]
    body["spec"]["versions"] = [{**version, "name": name, "storage": name == "v1"} for name in ("v1", "v1alpha1")]
    admin.apply(body)
    for api_version in (GROUP, OLD):
        wait_for("it to be served", partial(admin.serves, api_version, KIND), seconds=30)
    yield
    admin.undefine(body["metadata"]["name"])
    admin.close()


@pytest.fixture
def tenants(
    control_plane: ControlPlane,
    shared_kind: None,
    project: Project,
    operate: Operate,
    things: Things,
) -> Iterator[Tenants]:
    name = f"{things.observer.namespace}-other"
    things.observer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    other = Observer(control_plane.kubeconfig, name)
    project.role("shared", ROLE)
    specs = project.path / "roles/shared/meta/argument_specs.yml"
    specs.parent.mkdir()
    specs.write_text(SPECS)
    project.watch("shared", KIND, **WATCH)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = int(bound.getsockname()[1])
    operator = operate(
        "--webhooks=dev",
        "--zap-log-level=debug",
        "--ansible-log-events=everything",
        f"--metrics-bind-address=127.0.0.1:{port}",
        WATCH_NAMESPACE=f"{things.observer.namespace},{name}",
    )
    yield Tenants(operator, things, Things(other), port)
    other.delete("v1", "Namespace", name)
    other.close()


def own_objects(own: Things) -> None:
    """A Secret and an object that all custom resources refer to, and a custom resource, full of canaries."""
    observer = own.observer
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "payroll"}}
    observer.create({**secret, "stringData": {SECRET_KEY: SECRET_VALUE}})
    meta = {"name": "shared", "labels": {"app": "shared"}}
    observer.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {OBJECT_KEY: OBJECT_VALUE}}
    )
    items = [{"name": ITEM}]
    own.create("a", {"greeting": SPEC, "keep": ["one", "two"], "items": items, "secrets": "payroll"}, KIND)


def change_own(own: Things) -> None:
    """Everything changes, in a way that names of fields tell."""
    observer = own.observer
    observer.patch("v1", "Secret", "payroll", {"stringData": {f"{SECRET_KEY}-2": SECRET_VALUE}})
    observer.patch("v1", "ConfigMap", "shared", {"data": {f"{OBJECT_KEY}-2": OBJECT_VALUE}})
    observer.patch("v1", "ConfigMap", "a-one", {"data": {OBJECT_KEY: OBJECT_VALUE}})
    own.patch("a", {"spec": {"keep": ["one"]}}, KIND)


def test_nothing_of_one_tenant_is_found_in_anything_of_another(tenants: Tenants) -> None:
    own, other = tenants.own, tenants.other
    foreign = {"name": "payroll", "namespace": own.observer.namespace}

    def created() -> bool:
        try:
            other.create("b", {"greeting": "hello", "keep": ["one", "two"], "secrets": [foreign, "mine"]}, KIND)
        except ApiException:  # the API server heeds a webhook a little after it was told of it
            return False
        return True

    own_objects(own)
    wait_for("the webhooks to be heeded", created, seconds=20)
    own.wait("a", "Successful", KIND)
    other.wait("b", "Successful", KIND)
    assert "keep" in refusal(other, "wrong", {"greeting": "hello", "keep": {"a": 1}}, KIND)
    (warning,) = wait_for("the warning", lambda: tenants.events("UnusableReference"), seconds=PATIENCE)
    assert f"names {own.observer.namespace}/payroll outside of namespace" in warning

    change_own(own)
    told = wait_for("a run by reference", lambda: tenants.events("ReferenceChanged"), seconds=PATIENCE)
    other.patch("b", {"spec": {"keep": []}}, KIND)
    wait_for("what is no longer kept to be pruned", lambda: tenants.events("Pruned"), seconds=PATIENCE)
    wait_for("a check for drift", tenants.is_checked, seconds=PATIENCE)
    assert other.observer.get(OLD, KIND, "b")["spec"]["hello"] == "hello"  # type: ignore[index]

    assert set(told) == {f"ConfigMap {own.observer.namespace}/shared changed"}
    assert tenants.found() == []
    texts = [file.read_text(errors="replace") for file in files_below(tenants.operator.runner_dir)]
    assert any(SPEC in text for text in texts), "the canaries are where they have to be"
