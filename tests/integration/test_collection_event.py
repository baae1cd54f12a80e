"""k8s_event against a real API server, by one play."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from bench.observer import Object, Observer
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import GROUP
from tests.fixtures.playbooks import Result, results

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600), pytest.mark.xdist_group("collection_event")]

REASON = {"reason": "Made", "message": "It was made."}
NAMESPACE = f"events-{uuid4().hex[:8]}"
INVOLVED = {"apiVersion": GROUP, "kind": "Thing", "name": "one", "namespace": NAMESPACE}
ABOUT = {"involvedObject": INVOLVED}

TASKS: dict[str, dict[str, Any]] = {
    "first": {**REASON, **ABOUT, "reportingComponent": "tester", "source": {"component": "tester"}},
    "again": {**REASON, **ABOUT, "message": "It was made again.", "state": "present", "merge_type": ["merge"]},
    "another reason": {**ABOUT, "reason": "Lost", "message": "It is gone.", "type": "Warning"},
    "about what is not there": {**REASON, "name": "absent", "involvedObject": {**INVOLVED, "name": "absent"}},
    "with the time": {**REASON, **ABOUT, "appendTimestamp": True},
    "about nothing": {**REASON, "name": "nothing"},
}


@pytest.fixture(scope="module")
def thing(kinds: Observer) -> Object:
    """An object to tell about, in a namespace of its own."""
    kinds.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    body = {"apiVersion": GROUP, "kind": "Thing", "metadata": {"name": "one"}, "spec": {}}
    return kinds.create(body, namespace=NAMESPACE)


@pytest.fixture(scope="module")
def answers(
    control_plane: ControlPlane, thing: Object, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Result]:
    common = {"name": "event", "namespace": NAMESPACE}
    tasks = {task: {"operator_sdk.util.k8s_event": {**common, **given}} for task, given in TASKS.items()}
    directory = tmp_path_factory.mktemp("play")
    return asyncio.run(results(directory, tasks, control_plane.kubeconfig.read_text()))


def test_an_event_is_written_with_what_is_known_of_its_object(answers: dict[str, Result], thing: Object) -> None:
    assert answers["first"]["changed"]
    event = answers["first"]["result"]
    known = {field: thing["metadata"][field] for field in ("uid", "resourceVersion")}
    assert event["involvedObject"] == {**INVOLVED, **known}
    assert (event["type"], event["reason"], event["message"]) == ("Normal", "Made", "It was made.")
    assert (event["reportingComponent"], event["source"]) == ("tester", {"component": "tester"})
    assert (event["count"], event["firstTimestamp"]) == (1, event["lastTimestamp"])


def test_an_event_with_the_same_reason_is_counted(answers: dict[str, Result]) -> None:
    event = answers["again"]["result"]
    assert (answers["again"]["changed"], event["count"]) == (True, 2)
    assert event["firstTimestamp"] == answers["first"]["result"]["firstTimestamp"]
    assert event["message"] == "It was made again."
    assert event["reportingComponent"] == "tester"


def test_an_event_with_another_reason_is_a_new_one(answers: dict[str, Result]) -> None:
    event = answers["another reason"]["result"]
    assert (event["count"], event["firstTimestamp"], event["type"]) == (1, event["lastTimestamp"], "Warning")


def test_what_an_event_is_about_need_not_exist(answers: dict[str, Result]) -> None:
    assert answers["about what is not there"]["result"]["involvedObject"] == {**INVOLVED, "name": "absent"}


def test_an_event_with_the_time_in_its_name_is_one_of_its_own(answers: dict[str, Result]) -> None:
    event = answers["with the time"]["result"]
    assert event["metadata"]["name"].startswith("event.20")
    assert (event["count"], event["involvedObject"]["name"]) == (1, "one")


def test_what_the_api_server_refuses_is_said(answers: dict[str, Result]) -> None:
    answer = answers["about nothing"]
    assert (answer["failed"], answer["error"]["status"]) == (True, 422)
    assert answer["msg"].startswith("Unable to create event: 422 Unprocessable Entity")
