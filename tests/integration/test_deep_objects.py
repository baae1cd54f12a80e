"""Custom resources that are nested without end: their own failure, and nobody else's."""

from __future__ import annotations

import pytest

from bench.observer import Object, Observer, wait_for
from runner.dev.api import Api
from tests.fixtures.operators import GROUP, PATIENCE, Operate, Project, Things

pytestmark = pytest.mark.cluster

SHOW = """
- name: Go down all the levels
  ansible.builtin.assert:
    that: my_key is defined
"""


def nested(levels: int) -> Object:
    spec: Object = {}
    for _ in range(levels):
        spec = {"myKey": spec}
    return spec


def create(admin: Api, namespace: str, name: str, levels: int) -> None:
    """Without Python's JSON encoder, which would give up first."""
    spec = '{"myKey":' * levels + "{}" + "}" * levels
    body = f'{{"apiVersion": "{GROUP}", "kind": "Thing", "metadata": {{"name": "{name}"}}, "spec": {spec}}}'
    path = f"/apis/{GROUP}/namespaces/{namespace}/things"
    status, answer = admin.send("POST", path, body)
    assert status == 201, answer


@pytest.mark.parametrize("unsafe", [False, True], ids=["plain", "unsafe"])
def test_an_object_with_2000_levels_fails_and_the_others_of_its_kind_run(
    project: Project, operate: Operate, things: Things, admin: Api, namespace: str, unsafe: bool
) -> None:
    project.role("show", SHOW)
    project.watch("show", markUnsafe=unsafe)
    things.create("before", nested(2))
    operator = operate("--reconcile-period=0s")
    things.wait("before", "Successful")
    create(admin, namespace, "deep", 2000)
    things.create("after", nested(2))
    things.wait("after", "Successful")
    event = wait_for("an Event about it", lambda: _warning(things.observer), seconds=PATIENCE)
    assert event == "spec is nested deeper than 128 levels: make it flatter"
    operator.stop()
    operator.start()
    things.create("later", nested(2))
    things.patch("before", {"spec": {"more": 1}})
    for name in ("before", "later"):
        things.wait(name, "Successful")
    errors = [record for record in operator.records() if record.get("level") == "error"]
    assert {(record["msg"], record["name"]) for record in errors} == {("Reconciled", "deep")}
    status, text = admin.send("GET", f"/apis/{GROUP}/namespaces/{namespace}/things/deep")
    assert status == 200
    assert text.count('"myKey":') == 2000
    assert '"message":"spec is nested deeper than 128 levels: make it flatter"' in text


def test_an_object_with_120_levels_is_run_as_any_other(project: Project, operate: Operate, things: Things) -> None:
    project.role("show", SHOW)
    project.watch("show", markUnsafe=True)
    operate()
    things.create("first", nested(120))
    things.wait("first", "Successful")


def _warning(observer: Observer) -> str:
    events = [event for event in observer.list("v1", "Event") if event["type"] == "Warning"]
    return next((event["message"] for event in events if event["involvedObject"]["name"] == "deep"), "")
