"""What the API server refuses, or takes away, is told once, and costs nobody else anything."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from bench.observer import Object, Observer, condition, wait_for
from bench.operator import OperatorProcess
from tests.fixtures.operators import GROUP, PATIENCE, Operate, Project, Things, definition, directories_below

pytestmark = pytest.mark.cluster

OK = "- name: Say something\n  ansible.builtin.debug: {msg: fine}\n"
CONFIG_MAP = """
- name: Keep a ConfigMap
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: "{{ ansible_operator_meta.name }}"
        namespace: "{{ ansible_operator_meta.namespace }}"
"""
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


@pytest.fixture
def kind(observer: Observer, namespace: str) -> Iterator[str]:
    """The name of a kind of this test alone, which is removed in the end."""
    kind = "Own" + namespace.removeprefix("test-").translate(str.maketrans("0123456789", "ghijklmnop"))
    yield kind
    observer.delete(*CRD, crd(kind))


def crd(kind: str) -> str:
    return f"{kind.lower()}s.{GROUP.partition('/')[0]}"


def serve(observer: Observer, kind: str, status: Object | None = None) -> None:
    """Install the kind, with that schema of its status if one is given."""
    body = definition(kind)
    if status is not None:
        schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["status"] = {"x-kubernetes-preserve-unknown-fields": True, **status}
    observer.apply(body)
    wait_for("the kind to be served", lambda: observer.serves(GROUP, kind), seconds=30)


def publish(project: Project, kind: str, **fields: str) -> None:
    """A role whose results become these fields of the status."""
    project.role(
        "publish",
        "- name: Publish\n  ansible.builtin.set_stats:\n"
        "    data: {big: \"{{ 'x' * ((megabytes | default(0)) * 1000000) | int }}\"}\n",
    )
    project.watch("publish", kind=kind, status=fields)


def runs(operator: OperatorProcess, name: str) -> int:
    return sum(record["name"] == name for record in operator.records("Reconciled"))


def warnings(observer: Observer, name: str) -> list[Object]:
    found = [event for event in observer.list("v1", "Event") if event["involvedObject"]["name"] == name]
    return [event for event in found if event["type"] == "Warning"]


def test_a_result_that_the_schema_refuses_is_a_failure_without_what_was_refused(
    project: Project, operate: Operate, things: Things, observer: Observer, kind: str
) -> None:
    serve(observer, kind, {"type": "object", "properties": {"size": {"type": "integer"}}})
    publish(project, kind, size="'large'", color="'red'")
    operator = operate()
    things.create("first", kind=kind)
    failed = things.wait("first", "Failure", kind=kind)
    message = condition(failed, "Failure")["message"]
    assert "status.size: Invalid value" in message
    ended = partial(things.condition, "first", "Running", kind)
    wait_for("Running to end between two tries", lambda: ended()["status"] == "False", seconds=PATIENCE)
    assert (failed["status"].get("color"), failed["status"].get("size")) == ("red", None)
    (event,) = wait_for("its Event", lambda: warnings(observer, "first"), seconds=PATIENCE)
    assert "status.size: Invalid value" in event["message"]
    assert any(record["msg"] == "retry" for record in operator.records())


@pytest.mark.parametrize("megabytes", [1.6, 2.6, 4], ids=["for etcd", "for its client", "for a request"])
def test_a_result_that_is_too_large_is_a_failure_without_the_result(
    project: Project, operate: Operate, things: Things, observer: Observer, kind: str, megabytes: float
) -> None:
    serve(observer, kind)
    publish(project, kind, big="data.big")
    operate()
    things.create("first", {"megabytes": megabytes}, kind=kind)
    failed = things.wait("first", "Failure", kind=kind)
    assert " large" in condition(failed, "Failure")["message"]
    assert "big" not in failed["status"]


def test_a_kind_that_is_deleted_takes_its_objects_with_it_and_comes_back(
    project: Project, operate: Operate, things: Things, observer: Observer, kind: str
) -> None:
    serve(observer, kind)
    project.role("keeper", CONFIG_MAP)
    project.watch("keeper", kind=kind)
    operator = operate()
    things.create("first", kind=kind)
    things.wait("first", "Successful", kind=kind)
    assert "first" in directories_below(operator.runner_dir)
    observer.delete(*CRD, crd(kind))
    wait_for(
        "its files to be gone", lambda: "first" not in directories_below(operator.runner_dir), seconds=PATIENCE
    )
    wait_for("the kind to be absent", lambda: any(_absent(operator)), seconds=PATIENCE)
    wait_for("the definition to be gone", lambda: not observer.get(*CRD, crd(kind)), seconds=PATIENCE)
    observer.delete("v1", "ConfigMap", "first")  # a reason to look at an object whose kind is gone
    serve(observer, kind)
    wait_for("an object", lambda: _created(things, kind), seconds=PATIENCE)
    things.wait("second", "Successful", kind=kind)
    assert not [record for record in operator.records() if record["msg"] in ("reconcile failed", "retry")]


def test_a_status_subresource_that_is_removed_is_no_deletion(
    project: Project, operate: Operate, things: Things, observer: Observer, kind: str
) -> None:
    serve(observer, kind)
    project.role("ok", OK)
    project.watch("ok", kind=kind)
    operator = operate()
    things.create("first", kind=kind)
    things.wait("first", "Successful", kind=kind)
    versions = definition(kind, status_subresource=False)["spec"]["versions"]
    observer.patch(*CRD, crd(kind), {"spec": {"versions": versions}})
    wait_for("the subresource to be gone", lambda: _noticed(operator, things, kind), seconds=PATIENCE, every=1)
    last = runs(operator, "first")
    things.patch("first", {"spec": {"last": True}}, kind=kind)
    wait_for("another run", lambda: runs(operator, "first") > last, seconds=PATIENCE)
    assert "first" in directories_below(operator.runner_dir)


def _absent(operator: OperatorProcess) -> Iterator[dict[str, Any]]:
    return (record for record in operator.records() if "does not serve this kind" in record["msg"])


def _created(things: Things, kind: str) -> bool:
    return bool(things.get("second", kind=kind) or things.create("second", kind=kind))


def _noticed(operator: OperatorProcess, things: Things, kind: str) -> bool:
    """Whether a run has found that there is no status to be written; starts one that may."""
    things.patch("first", {"spec": {"round": runs(operator, "first")}}, kind=kind)
    return any("no status subresource" in record["msg"] for record in operator.records())
