"""k8s_status against a real API server, by one play."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bench.observer import Observer
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import GROUP
from tests.fixtures.playbooks import Result, results

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600), pytest.mark.xdist_group("collection_status")]

LATER = "2026-01-02T00:00:00Z"
READY = {
    "type": "Ready",
    "status": True,
    "reason": "Up",
    "message": "m",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
DOWN, OTHER = {"type": "Ready", "status": "False"}, {"type": "Other", "status": "Unknown"}

TASKS: dict[str, dict[str, Any]] = {
    "merge": {"status": {"map": {"a": 1}, "list": [1, 2], "number": 3}},
    "merge into a map": {"status": {"map": {"b": 2}}},
    "the same again": {"status": {"map": {"a": 1}, "number": 3}},
    "a part of a list": {"status": {"list": [2]}},
    "a whole list": {"status": {"list": [2]}, "replace_lists": True},
    "null": {"status": {"number": None}},
    "null again": {"status": {"number": None}},
    "nothing": {},
    "a condition": {"conditions": [READY]},
    "the condition at another time": {"conditions": [{**READY, "lastTransitionTime": LATER}]},
    "another condition": {"conditions": [OTHER]},
    "the condition changed": {"status": {"map": {"c": 3}}, "conditions": [DOWN]},
    "by plural": {"kind": "things", "status": {"map": {"a": 1}}},
    "by singular": {"kind": "thing", "status": {"map": {"a": 1}}},
    "replace": {"status": {"only": 1}, "force": True},
    "replace by the same": {"status": {"only": 1}, "replace": True},
    "replace by nothing": {"replace": True},
    "by short name": {"api_version": "v1", "kind": "ns", "name": "default"},
    "no such kind": {"kind": "Nothing"},
    "no such group": {"api_version": "none.example.com/v1"},
    "no status": {"kind": "Plain"},
    "no such object": {"name": "absent"},
    "no namespace": {"namespace": ""},
    "a bad condition": {"conditions": [{"type": "A", "status": "True", "reason": "not a word"}]},
    "conditions twice": {"status": {"conditions": [DOWN]}, "conditions": [DOWN]},
    "a status that is none": {"status": {"conditions": {"a": 1}}, "kind": "CustomResourceDefinition"}
    | {"api_version": "apiextensions.k8s.io/v1", "name": "things.test.example.com"},
}


@pytest.fixture(scope="module")
def answers(
    control_plane: ControlPlane, kinds: Observer, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Result]:
    """What each task answered; they all act on one object, in order."""
    name = f"one-{uuid4().hex[:8]}"
    kinds.create({"apiVersion": GROUP, "kind": "Thing", "metadata": {"name": name}, "spec": {}})
    common = {"api_version": GROUP, "kind": "Thing", "name": name, "namespace": "default"}
    tasks = {task: {"operator_sdk.util.k8s_status": {**common, **given}} for task, given in TASKS.items()}
    directory: Path = tmp_path_factory.mktemp("play")
    return asyncio.run(results(directory, tasks, control_plane.kubeconfig.read_text()))


def status(answer: Result) -> Any:
    return answer["result"]["status"]


def test_keys_are_merged_and_maps_in_depth(answers: dict[str, Result]) -> None:
    assert answers["merge"]["changed"]
    assert status(answers["merge"]) == {"map": {"a": 1}, "list": [1, 2], "number": 3}
    assert status(answers["merge into a map"])["map"] == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    "task",
    [
        "the same again",
        "a part of a list",
        "null again",
        "nothing",
        "the condition at another time",
        "by plural",
        "by singular",
        "by short name",
        "replace by the same",
    ],
)
def test_a_status_that_is_there_already_is_no_change_and_is_returned(
    answers: dict[str, Result], task: str
) -> None:
    assert (answers[task]["changed"], answers[task].get("failed", False)) == (False, False)
    assert answers[task]["result"]["metadata"]["uid"]


def test_a_list_is_replaced_where_that_is_asked_for(answers: dict[str, Result]) -> None:
    assert (answers["a whole list"]["changed"], status(answers["a whole list"])["list"]) == (True, [2])


def test_null_removes_a_key(answers: dict[str, Result]) -> None:
    assert (answers["null"]["changed"], "number" in status(answers["null"])) == (True, False)


def test_conditions_are_merged_by_type(answers: dict[str, Result]) -> None:
    assert status(answers["a condition"])["conditions"] == [{**READY, "status": "True"}]
    assert status(answers["another condition"])["conditions"] == [{**READY, "status": "True"}, OTHER]
    assert status(answers["the condition changed"])["conditions"] == [DOWN, OTHER]
    assert status(answers["the condition changed"])["map"] == {"a": 1, "b": 2, "c": 3}


def test_a_replaced_status_holds_nothing_else(answers: dict[str, Result]) -> None:
    (replaced,) = answers["replace"]["result"]
    assert (answers["replace"]["changed"], replaced["status"]) == (True, {"only": 1})
    (emptied,) = answers["replace by nothing"]["result"]
    assert (answers["replace by nothing"]["changed"], emptied["status"]) == (True, {})


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            "no such kind",
            f"Failed to find exact match for {GROUP}.Nothing by [kind, name, singularName, shortNames]",
        ),
        (
            "no such group",
            "Failed to find exact match for none.example.com/v1.Thing by [kind, name, singularName, shortNames]",
        ),
        ("no status", "Resource v1.Plain does not support the status subresource"),
        ("no such object", "Failed to retrieve requested object"),
        ("no namespace", "namespace is required: Thing is a namespaced kind"),
        ("a bad condition", "The specified conditions failed to validate"),
        ("conditions twice", "You cannot specify conditions in both the 'status' and 'conditions' parameters"),
    ],
)
def test_a_mistake_in_the_options_is_said(answers: dict[str, Result], task: str, message: str) -> None:
    assert (answers[task]["failed"], answers[task]["msg"]) == (True, message)


def test_an_error_tells_what_the_api_server_said(answers: dict[str, Result]) -> None:
    error = answers["no such object"]["error"]
    assert (error["status"], error["reason"], "NotFound" in error["body"]) == (404, "Not Found", True)
    assert answers["a bad condition"]["error"] == "Condition 'reason' must be a single, CamelCase word"


def test_a_status_that_the_api_server_refuses_is_said(answers: dict[str, Result]) -> None:
    answer = answers["a status that is none"]
    assert (answer["failed"], answer["error"]["status"]) == (True, 422)
    assert answer["msg"].startswith("Failed to replace status: 422 ")
