"""A custom resource that cannot be converted breaks its kind for nobody."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import urllib3

from bench.observer import Observer, wait_for
from runner.dev.api import Api
from runner.serve.admission.conversion import LOST, UNCONVERTED
from tests.fixtures.operators import GROUP, Operate, Project, Things
from tests.fixtures.webhooks import Webhooks, watches_of, webhooks, written
from tests.integration.test_admission import OLD, _created, convertible

__all__ = ["convertible", "webhooks"]

pytestmark = pytest.mark.cluster

KIND = "Convertible"
TO, FROM = {"size": "spec.replicas"}, {"replicas": "length(spec.size)"}
DEPTHS = (495, 700, 5000)


def deep(levels: int) -> str:
    """A custom resource as text: Python's encoder could not write it."""
    spec = '{"x": [' * (levels // 2) + "7" + "]}" * (levels // 2)
    head = {"apiVersion": OLD, "kind": KIND, "metadata": {"name": f"deep-{levels}"}}
    return json.dumps(head).removesuffix("}") + f', "spec": {spec}}}'


def odd() -> dict[str, dict[str, Any]]:
    """Custom resources that are small, and that maps or notes do not fit, by name."""
    forged = {LOST: json.dumps({"v1": [[["spec", *"x" * 900], [], [1]], [["spec", "y"], [], [10**400]]]})}
    return {
        "forged": {"metadata": {"annotations": forged}, "spec": {"size": ["a"]}},
        "failing": {"spec": {"size": 3}},
    }


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_an_object_that_cannot_be_converted_is_served_as_it_is_and_all_others_are_reconciled(
    project: Project,
    operate: Operate,
    webhooks: Webhooks,
    convertible: Callable[..., None],
    observer: Observer,
    things: Things,
    admin: Api,
    namespace: str,
) -> None:
    written(project, "convertible")
    project.watch("convertible", KIND, versions={"v1alpha1": {"to": TO, "from": FROM}})
    (watch,) = watches_of(project)
    port, probes = free_port(), free_port()
    ports = f"--webhook-port={port}", f"--health-probe-bind-address=127.0.0.1:{probes}"
    operator = operate(*webhooks.flags(), *ports, ready=False)
    wait_for("it to listen", lambda: list(operator.records("Listening")), seconds=30)

    def readiness() -> tuple[int, str]:
        with urllib3.HTTPConnectionPool("127.0.0.1", probes, retries=False) as pool:
            answer = pool.request("GET", "/readyz")
        return answer.status, answer.data.decode()

    absent = "ok, but not watching test.example.com/v1, Kind=Convertible (the API server does not serve it)\n"
    wait_for("the absence to be told", lambda: readiness() == (200, absent), seconds=30)
    convertible(operator, watch, "v1alpha1")

    def body(name: str, spec: object, **metadata: Any) -> dict[str, Any]:
        return {"apiVersion": OLD, "kind": KIND, "metadata": {"name": name, **metadata}, "spec": spec}

    def listed(version: str) -> str:
        path = f"/apis/test.example.com/{version}/namespaces/{namespace}/convertibles"
        status, text = admin.send("GET", path)
        assert status == 200, text
        return text

    before = body("before", {"size": ["a", "b"]})
    wait_for("the conversion to be heeded", partial(_created, observer, before), seconds=20)
    things.wait("before", "Successful", KIND)
    for name, one in odd().items():
        observer.create(body(name, one["spec"], **one.get("metadata", {})))
    for levels in DEPTHS:
        path = f"/apis/test.example.com/v1alpha1/namespaces/{namespace}/convertibles"
        assert admin.send("POST", path, deep(levels))[0] == 201

    for version in ("v1", "v1alpha1"):
        text = listed(version)
        for name in ("before", "forged", "failing", *(f"deep-{levels}" for levels in DEPTHS)):
            assert f'"name":"{name}"' in text
        assert text.count('{"x":[') == sum(levels // 2 for levels in DEPTHS)
    failing = observer.get(GROUP, KIND, "failing") or {}
    assert (failing["spec"], failing["metadata"]["annotations"]) == ({"size": 3}, {UNCONVERTED: "v1alpha1"})
    assert (observer.get(GROUP, KIND, "forged") or {})["spec"] == {"replicas": 1}

    observer.create(body("later", {"size": []}))
    things.wait("later", "Successful", KIND)
    operator.stop()
    operator.start()
    observer.create(body("last", {"size": []}))
    things.wait("last", "Successful", KIND)
    assert readiness() == (200, "ok")
