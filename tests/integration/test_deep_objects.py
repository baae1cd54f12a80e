"""Custom resources that are nested without end: their own failure, and nobody else's."""

from __future__ import annotations

from functools import partial

import pytest

from bench.observer import Object, Observer, wait_for
from runner.dev.api import Api
from tests.fixtures.operators import GROUP, PATIENCE, Project, Share, SharedOperator, Things, collection

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("deep_objects")]

SHOW = """
- name: Go down all the levels
  ansible.builtin.assert:
    that: my_key is defined
"""
KINDS = ("Plainly", "Unsafely")


def write(project: Project) -> None:
    project.role("show", SHOW)
    for kind in KINDS:
        project.watch("show", kind, markUnsafe=kind == "Unsafely")


@pytest.fixture(scope="module")
def shared(share: Share) -> SharedOperator:
    return share(write, "--reconcile-period=0s")


def nested(levels: int) -> Object:
    spec: Object = {}
    for _ in range(levels):
        spec = {"myKey": spec}
    return spec


def create(admin: Api, namespace: str, kind: str, levels: int) -> None:
    """Without Python's JSON encoder, which would give up first."""
    spec = '{"myKey":' * levels + "{}" + "}" * levels
    body = f'{{"apiVersion": "{GROUP}", "kind": "{kind}", "metadata": {{"name": "deep"}}, "spec": {spec}}}'
    status, answer = admin.send("POST", collection(kind, namespace), body)
    assert status == 201, answer


def test_an_object_with_2000_levels_fails_and_the_others_of_its_kind_run(
    shared: SharedOperator, things: Things, admin: Api, namespace: str
) -> None:
    operator = shared.process
    for kind in KINDS:
        things.create("before", nested(2), kind)
        things.wait("before", "Successful", kind)
        create(admin, namespace, kind, 2000)
        things.create("after", nested(2), kind)
        things.wait("after", "Successful", kind)
        event = wait_for("an Event about it", partial(_warning, things.observer, kind), seconds=PATIENCE)
        assert event == "spec is nested deeper than 128 levels: make it flatter"
    operator.stop()
    operator.start()
    for kind in KINDS:
        things.create("later", nested(2), kind)
        things.patch("before", {"spec": {"more": 1}}, kind)
    for kind in KINDS:
        for name in ("before", "later"):
            things.wait(name, "Successful", kind)
        status, text = admin.send("GET", f"{collection(kind, namespace)}/deep")
        assert status == 200
        assert text.count('"myKey":') == 2000
        assert '"message":"spec is nested deeper than 128 levels: make it flatter"' in text
    errors = [record for record in operator.records() if record.get("level") == "error"]
    assert {(record["msg"], record["kind"], record["name"]) for record in errors} == {
        ("Reconciled", kind, "deep") for kind in KINDS
    }


@pytest.mark.usefixtures("shared")
def test_an_object_with_120_levels_is_run_as_any_other(things: Things) -> None:
    things = things.of("Unsafely")
    things.create("first", nested(120))
    things.wait("first", "Successful")


def _warning(observer: Observer, kind: str) -> str:
    events = [event for event in observer.list("v1", "Event") if event["type"] == "Warning"]
    return next((event["message"] for event in events if event["involvedObject"]["kind"] == kind), "")
