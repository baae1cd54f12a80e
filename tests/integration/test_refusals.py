"""What the API server refuses, or takes away, is told once, and costs nobody else anything."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from bench.observer import Object, Observer, condition, wait_for
from bench.operator import OperatorProcess
from runner.dev.api import Api
from tests.fixtures.operators import (
    GROUP,
    PATIENCE,
    Project,
    Share,
    SharedOperator,
    Things,
    definition,
    directories_below,
    is_served,
)

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("refusals")]

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


PUBLISH = """
- name: Publish
  ansible.builtin.set_stats:
    data: {big: "{{ 'x' * ((megabytes | default(0)) * 1000000) | int }}"}
"""


def write(project: Project) -> None:
    """A kind for each refusal: a test changes the definition of its own."""
    project.role("publish", PUBLISH)
    project.watch("publish", "Sizable", status={"size": "'large'", "color": "'red'"})
    project.watch("publish", "Weighty", status={"big": "data.big"})
    project.role("keeper", CONFIG_MAP)
    project.watch("keeper", "Vanishing")
    project.role("ok", OK)
    project.watch("ok", "Unstated")


@pytest.fixture(scope="module")
def shared(share: Share, kinds: Observer, admin: Api) -> SharedOperator:
    serve(kinds, admin, "Sizable", {"type": "object", "properties": {"size": {"type": "integer"}}})
    serve(kinds, admin, "Unstated")
    return share(write)


def crd(kind: str) -> str:
    return f"{kind.lower()}s.{GROUP.partition('/')[0]}"


def serve(observer: Observer, admin: Api, kind: str, status: Object | None = None) -> None:
    """Install the kind, with that schema of its status if one is given."""
    body = definition(kind)
    if status is not None:
        schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["status"] = {"x-kubernetes-preserve-unknown-fields": True, **status}
    observer.apply(body)
    wait_for("the kind to be served", partial(is_served, admin, kind), seconds=30)


def warnings(observer: Observer, name: str) -> list[Object]:
    found = [event for event in observer.list("v1", "Event") if event["involvedObject"]["name"] == name]
    return [event for event in found if event["type"] == "Warning"]


def test_a_result_that_the_schema_refuses_is_a_failure_without_what_was_refused(
    shared: SharedOperator, things: Things, observer: Observer
) -> None:
    kind = "Sizable"
    things.create("first", kind=kind)
    failed = things.wait("first", "Failure", kind=kind)
    message = condition(failed, "Failure")["message"]
    assert "status.size: Invalid value" in message
    ended = partial(things.condition, "first", "Running", kind)
    wait_for("Running to end between two tries", lambda: ended()["status"] == "False", seconds=PATIENCE)
    assert (failed["status"].get("color"), failed["status"].get("size")) == ("red", None)
    (event,) = wait_for("its Event", lambda: warnings(observer, "first"), seconds=PATIENCE)
    assert "status.size: Invalid value" in event["message"]
    assert any(f"{observer.namespace}/first" in record["key"] for record in shared.process.records("retry"))


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("megabytes", [1.6, 2.6, 4], ids=["for etcd", "for its client", "for a request"])
def test_a_result_that_is_too_large_is_a_failure_without_the_result(things: Things, megabytes: float) -> None:
    kind = "Weighty"
    things.create("first", {"megabytes": megabytes}, kind=kind)
    failed = things.wait("first", "Failure", kind=kind)
    assert " large" in condition(failed, "Failure")["message"]
    assert "big" not in failed["status"]


def test_a_kind_that_is_deleted_takes_its_objects_with_it_and_comes_back(
    shared: SharedOperator, things: Things, observer: Observer, admin: Api
) -> None:
    kind, operator = "Vanishing", shared.process
    things.create("taken", kind=kind)
    things.wait("taken", "Successful", kind=kind)
    assert "taken" in directories_below(operator.runner_dir)
    observer.delete(*CRD, crd(kind))
    wait_for(
        "its files to be gone", lambda: "taken" not in directories_below(operator.runner_dir), seconds=PATIENCE
    )
    wait_for("the kind to be absent", lambda: any(_absent(operator)), seconds=PATIENCE)
    wait_for("the definition to be gone", lambda: not observer.get(*CRD, crd(kind)), seconds=PATIENCE)
    observer.delete("v1", "ConfigMap", "taken")  # a reason to look at an object whose kind is gone
    serve(observer, admin, kind)
    wait_for("an object", lambda: _created(things, kind), seconds=PATIENCE)
    things.wait("second", "Successful", kind=kind)
    failures = [
        record for record in operator.records() if record["msg"] in ("reconcile failed unexpectedly", "retry")
    ]
    assert not [record for record in failures if kind in record["key"]]


def test_a_status_subresource_that_is_removed_is_no_deletion(
    shared: SharedOperator, things: Things, observer: Observer
) -> None:
    kind = "Unstated"
    things.create("staying", kind=kind)
    things.wait("staying", "Successful", kind=kind)
    versions = definition(kind, status_subresource=False)["spec"]["versions"]
    observer.patch(*CRD, crd(kind), {"spec": {"versions": versions}})
    wait_for("the subresource to be gone", lambda: _noticed(shared, things, kind), seconds=PATIENCE, every=1)
    last = runs(shared, observer)
    things.patch("staying", {"spec": {"last": True}}, kind=kind)
    wait_for("another run", lambda: runs(shared, observer) > last, seconds=PATIENCE)
    assert "staying" in directories_below(shared.process.runner_dir)


def runs(shared: SharedOperator, observer: Observer) -> int:
    return len(shared.reconciles(observer.namespace))


def _absent(operator: OperatorProcess) -> Iterator[dict[str, Any]]:
    return (record for record in operator.records() if "does not serve this kind" in record["msg"])


def _created(things: Things, kind: str) -> bool:
    return bool(things.get("second", kind=kind) or things.create("second", kind=kind))


def _noticed(shared: SharedOperator, things: Things, kind: str) -> bool:
    """Whether a run has found that there is no status to be written; starts one that may."""
    things.patch("staying", {"spec": {"round": runs(shared, things.observer)}}, kind=kind)
    return any("no status subresource" in record["msg"] for record in shared.process.records())
