"""How an object is made to name its owner."""

from __future__ import annotations

from typing import Any

import pytest

from runner.objects import GroupVersionKind, Owner
from runner.serve import ownership
from runner.serve.ownership import Mechanism
from runner.serve.target import Target, parse_target

DATABASE = GroupVersionKind("app.example.com", "v1", "Database")
NAMESPACED = Owner(DATABASE, "shop", "orders", "uid-1")
CLUSTER = Owner(DATABASE, "", "orders", "uid-1")
REFERENCE = {"apiVersion": "app.example.com/v1", "kind": "Database", "name": "orders", "uid": "uid-1"}


@pytest.mark.parametrize(
    ("owner", "namespace", "mechanism"),
    [
        (NAMESPACED, "shop", Mechanism.OWNER_REFERENCE),
        (NAMESPACED, "other", Mechanism.ANNOTATION),
        (NAMESPACED, "", Mechanism.ANNOTATION),
        (CLUSTER, "shop", Mechanism.OWNER_REFERENCE),
        (CLUSTER, "", Mechanism.OWNER_REFERENCE),
    ],
)
def test_an_owner_reference_is_used_wherever_kubernetes_allows_one(
    owner: Owner, namespace: str, mechanism: Mechanism
) -> None:
    assert ownership.mechanism_for(owner, namespace) is mechanism


@pytest.mark.parametrize(
    ("target", "body", "namespaced", "namespace"),
    [
        (Target("", "v1", "pods", "url"), {"metadata": {"namespace": "body"}}, True, "url"),
        (Target("", "v1", "pods"), {"metadata": {"namespace": "body"}}, True, "body"),
        (Target("", "v1", "pods"), {"metadata": None}, True, ""),
        (Target("", "v1", "nodes"), {"metadata": {"namespace": "wrong"}}, False, ""),
    ],
)
def test_the_paths_namespace_counts_before_the_bodys(
    target: Target, body: dict[str, Any], namespaced: bool, namespace: str
) -> None:
    assert ownership.dependent_namespace(target, body, namespaced=namespaced) == namespace


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/api/v1/namespaces/shop/pods", True),
        ("POST", "/apis/apps/v1/namespaces/shop/deployments?fieldManager=x", True),
        ("PUT", "/api/v1/namespaces/shop/pods/p", False),
        ("PATCH", "/api/v1/namespaces/shop/pods/p", False),
        ("DELETE", "/api/v1/namespaces/shop/pods/p", False),
        ("POST", "/api/v1/namespaces/shop/pods/p/eviction", False),
        ("POST", "/apis", False),
    ],
)
def test_only_creation_is_touched(method: str, path: str, expected: bool) -> None:
    assert ownership.may_inject(method, parse_target(path)) is expected


@pytest.mark.parametrize(
    "metadata", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"ownerReferences": None}}]
)
def test_an_owner_reference_is_plain(metadata: dict[str, Any]) -> None:
    """No controller flag and no blockOwnerDeletion: other controllers may still adopt the object."""
    named = ownership.inject(metadata, NAMESPACED, Mechanism.OWNER_REFERENCE)
    assert named["metadata"]["ownerReferences"] == [REFERENCE]


def test_other_owners_stay() -> None:
    other = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "uid-2", "controller": True}
    named = ownership.inject({"metadata": {"ownerReferences": [other]}}, NAMESPACED, Mechanism.OWNER_REFERENCE)
    assert named["metadata"]["ownerReferences"] == [other, REFERENCE]


def test_an_owner_that_is_there_already_is_not_doubled() -> None:
    mine = {**REFERENCE, "controller": True}
    named = ownership.inject({"metadata": {"ownerReferences": [mine]}}, NAMESPACED, Mechanism.OWNER_REFERENCE)
    assert named["metadata"]["ownerReferences"] == [mine]


@pytest.mark.parametrize(
    ("owner", "where", "kind"),
    [
        (NAMESPACED, "shop/orders", "Database.app.example.com"),
        (Owner(GroupVersionKind("", "v1", "Secret"), "shop", "s", "u"), "shop/s", "Secret"),
    ],
)
def test_annotations_are_overwritten_and_others_stay(owner: Owner, where: str, kind: str) -> None:
    body = {"metadata": {"annotations": {"a": "b", ownership.PRIMARY: "old"}}}
    named = ownership.inject(body, owner, Mechanism.ANNOTATION)
    assert named["metadata"]["annotations"] == {
        "a": "b",
        "operator-sdk/primary-resource": where,
        "operator-sdk/primary-resource-type": kind,
    }


def test_the_given_object_is_left_alone() -> None:
    body: dict[str, Any] = {"metadata": {"ownerReferences": [], "annotations": {}}}
    for mechanism in Mechanism:
        ownership.inject(body, NAMESPACED, mechanism)
    assert body == {"metadata": {"ownerReferences": [], "annotations": {}}}


@pytest.mark.parametrize(
    ("raw", "content_type", "body"),
    [
        (b'{"kind": "A"}', "application/json", {"kind": "A"}),
        (b'{"kind": "A"}', "", {"kind": "A"}),
        (b"kind: A\nday: 2026-01-01", "application/yaml", {"kind": "A", "day": "2026-01-01"}),
        (b"kind: A\n---\nkind: B", "application/yaml", None),
        (b"a: [", "application/yaml", None),
        (b"\xff", "application/json", None),
        (b"[1]", "application/json", None),
        (b'{"metadata": []}', "application/json", {"metadata": []}),
        (b'{"metadata": [1]}', "application/json", None),
        (b'{"metadata": {"annotations": "x"}}', "application/json", None),
        (b"[" * 100_000, "application/json", None),
        (b"k8s\x00", "application/vnd.kubernetes.protobuf", None),
    ],
)
def test_a_body_is_an_object_or_passes_untouched(
    raw: bytes, content_type: str, body: dict[str, Any] | None
) -> None:
    assert ownership.decode(raw, content_type) == body


def test_numbers_that_json_lacks_are_not_made_up() -> None:
    body = ownership.decode(b'{"data": 1e999}', "")
    assert body is not None
    with pytest.raises(ValueError, match="JSON compliant"):
        ownership.encode(body)
