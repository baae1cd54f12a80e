"""What a dry run would change, and what of it people may see."""

from __future__ import annotations

from typing import Any

import pytest

from runner.differences import Difference, difference, masked, paths, summary

LIVE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "resourceVersion": "1",
        "generation": 1,
        "managedFields": [1],
    },
    "spec": {"replicas": 5, "template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}},
    "status": {"readyReplicas": 5},
}


def dry(**spec: object) -> dict[str, Any]:
    return {
        **LIVE,
        "metadata": {**LIVE["metadata"], "generation": 2, "managedFields": [2]},
        "spec": {**LIVE["spec"], **spec},
        "status": {},
    }


def secret(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "data": data}


def test_what_the_server_writes_is_no_difference() -> None:
    assert difference("Deployment", LIVE, dry()) is None


def test_fields_that_differ_are_named_by_their_path() -> None:
    template = {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}
    found = difference("Deployment", LIVE, dry(replicas=2, template=template))
    assert found is not None
    assert found.paths == ("spec.replicas", "spec.template.spec.containers[0].image")
    assert summary([found]) == ("Deployment shop/web: spec.replicas, spec.template.spec.containers[0].image")


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1}, {"a": 1}, ()),
        ({"a": 1}, {}, ("a",)),
        ({}, {"a": None}, ()),
        ({"a": [1]}, {"a": [1, 2]}, ("a",)),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, ("a[1].b",)),
        ({"a": {"x.y/z": "1"}}, {"a": {"x.y/z": "2"}}, ('a["x.y/z"]',)),
        ({"a": True}, {"a": {"b": 1}}, ("a",)),
    ],
)
def test_paths(before: object, after: object, found: tuple[str, ...]) -> None:
    assert paths(before, after) == found


def test_objects_that_come_and_go_are_said_to() -> None:
    created, deleted = difference("Deployment", None, LIVE), difference("Deployment", LIVE, None)
    assert created is not None
    assert deleted is not None
    assert summary([created, deleted]) == (
        "Deployment shop/web would be created; Deployment shop/web would be deleted"
    )


def test_of_many_objects_the_first_are_named() -> None:
    many = [Difference("Job", "", f"{place}", None, {}) for place in range(7)]
    assert summary(many, objects=1) == "Job 0 would be created; and 6 more"


def test_values_of_a_secret_are_masked_wherever_they_are() -> None:
    before, after = secret(a="cGFzc3dvcmQ=", b="c2FtZQ=="), secret(a="Y2hhbmdlZA==", b="c2FtZQ==", c="bmV3")
    for body in (before, after):
        applied = str(body)
        body["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": applied}
    found = difference("Secret", before, after)
    assert found is not None
    shown = masked(found)
    assert shown[0] is not None
    assert shown[1] is not None
    assert shown[0]["data"] == {"a": "*** (before)", "b": "***"}
    assert shown[1]["data"] == {"a": "*** (after)", "b": "***", "c": "***"}
    assert not any(value in str(shown) for value in ("cGFzc3dvcmQ=", "c2FtZQ==", "Y2hhbmdlZA==", "bmV3"))


def test_a_secret_that_would_be_created_is_masked() -> None:
    found = difference("Secret", None, secret(a="cGFzc3dvcmQ="))
    assert found is not None
    assert "cGFzc3dvcmQ=" not in str(masked(found))
