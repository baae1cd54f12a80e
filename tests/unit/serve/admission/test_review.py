"""An AdmissionReview, read and answered."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import ReviewError
from runner.objects import PRUNE_PLACES
from runner.serve.admission.review import Verdict, answer, overfull, parse

OBJECT = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"size": 1}}
REQUEST = {
    "uid": "u-1",
    "operation": "CREATE",
    "namespace": "default",
    "object": OBJECT,
    "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
    "dryRun": True,
}


def review(**changes: Any) -> bytes:
    request = {name: value for name, value in (REQUEST | changes).items() if value is not ...}
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    ).encode()


def test_what_is_asked_is_read() -> None:
    found = parse(review())
    assert (found.uid, found.operation, found.namespace, found.dry_run) == ("u-1", "CREATE", "default", True)
    assert found.gvk.kind == "Thing"
    assert found.facts == {"operation": "CREATE", "user": REQUEST["userInfo"], "dry_run": True}


def test_an_update_comes_with_the_old_object() -> None:
    assert parse(review(operation="UPDATE", oldObject=OBJECT)).facts["old_object"] == OBJECT


def changed(new: dict[str, Any], old: dict[str, Any], **request: Any) -> bool:
    """Whether an update from `old` to `new`, each in addition to OBJECT, changes anything."""
    request = {"operation": "UPDATE", "object": OBJECT | new, "oldObject": OBJECT | old, **request}
    return parse(review(**request)).changes_anything


def metadata(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", **fields}}


DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
NOTED = {PRUNE_PLACES: "v1/ConfigMap@a"}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ({"spec": {"size": 2}}, {}, True),
        ({"spec": {"size": 1.0}}, {}, True),
        ({"spec": {"size": True}}, {}, True),
        ({"spec": None}, {}, True),
        ({}, {}, False),
        ({"status": {"ready": True}}, {}, False),
        (metadata(finalizers=["x/y"]), {}, False),
        (metadata(labels={"a": "b"}), {}, True),
        (metadata(annotations={"a": "b"}), {}, True),
        (metadata(annotations={}), {}, False),
        (metadata(annotations=NOTED), {}, False),
        (metadata(annotations={"a": "b"}), metadata(annotations=NOTED | {"a": "b"}), False),
        (metadata(annotations=NOTED | {"a": "c"}), metadata(annotations={"a": "b"}), True),
        (metadata(annotations=NOTED), metadata(annotations={"a": "b"}), True),
        (metadata(**DELETED, annotations={"a": "b"}), metadata(**DELETED), False),
        (metadata(**DELETED), metadata(**DELETED, finalizers=["x/y"]), False),
        ({**metadata(**DELETED), "spec": {"size": 2}}, metadata(**DELETED), True),
        (metadata(**DELETED, annotations={"a": "b"}), {}, True),  # the API server sets the timestamp, nobody else
    ],
)
def test_a_change_of_spec_is_always_reviewed_and_one_of_labels_or_annotations_before_the_deletion(
    new: dict[str, Any], old: dict[str, Any], expected: bool
) -> None:
    assert changed(new, old) is expected


def test_a_creation_is_reviewed_whatever_timestamp_it_carries() -> None:
    body = {**OBJECT, **metadata(**DELETED)}
    assert parse(review(object=body)).changes_anything
    assert parse(review(object=body, operation="UPDATE")).changes_anything  # the old object is missing


def test_objects_as_deep_as_can_be_decoded_are_compared() -> None:
    deep: Any = {}
    for _ in range(400):
        deep = {"a": [deep]}
    assert not changed({"spec": deep}, {"spec": deep})
    assert changed({"spec": deep}, {"spec": {"a": [deep]}})


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (None, ""),
        ({"a": [1] * 8, "b": 2}, ""),
        ({"a": [1] * 9, "b": 2}, "spec"),
        ({"a": [1] * 11, "b": 2}, "spec.a"),
        ([{}, {"a": {"b": [[]] * 11}}], "spec[1].a.b"),
        ({"a": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}, "spec.a"),
        ({"x" * 200: list(range(11))}, f"spec.{'x' * 80}"),
    ],
)
def test_the_innermost_field_of_too_many_values_is_named(spec: Any, field: str) -> None:
    assert overfull(spec, 10) == field


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "a review is a map, not list"),
        (b"{}", "the review is AdmissionReview of admission.k8s.io/v1, not None of None"),
        (review().replace(b"k8s.io/v1", b"k8s.io/v1beta1"), "not AdmissionReview of admission.k8s.io/v1beta1"),
        (review().replace(b"AdmissionReview", b"ConversionReview"), "not ConversionReview"),
        (review(uid=...), "no uid"),
        (review(uid="x" * 200), "no uid"),
        (review(uid=7), "no uid"),
        (review(operation="DELETE"), "CREATE or UPDATE, not DELETE"),
        (review(object=...), "object and oldObject are maps"),
        (review(object=[]), "object and oldObject are maps"),
        (review(oldObject="x"), "object and oldObject are maps"),
        (review(object={"kind": "Thing"}), "no metadata"),
    ],
)
def test_what_is_no_review_is_refused_with_the_reason(raw: bytes, why: str) -> None:
    with pytest.raises(ReviewError, match=why):
        parse(raw)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*REQUEST, "kind"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*REQUEST, "oldObject"]), ANYTHING))
def test_whatever_a_request_holds_it_is_read_or_refused(request: dict[str, Any]) -> None:
    try:
        found = parse(review(**request))
    except ReviewError:
        return
    assert answer(found.uid, Verdict())["response"]["uid"] == found.uid
    assert isinstance(found.changes_anything, bool)


def response(verdict: Verdict) -> dict[str, Any]:
    return dict(answer("u-1", verdict)["response"])


def test_what_is_allowed_is_answered_so() -> None:
    assert response(Verdict()) == {"uid": "u-1", "allowed": True}


@pytest.mark.parametrize(
    ("result", "code", "reason"),
    [("denied", 422, "Invalid"), ("failed", 500, "InternalError"), ("busy", 429, "TooManyRequests")],
)
def test_what_is_refused_has_its_code_and_message(result: str, code: int, reason: str) -> None:
    found = response(Verdict(result, "why"))
    assert found["allowed"] is False
    assert (found["status"]["code"], found["status"]["reason"], found["status"]["message"]) == (
        code,
        reason,
        "why",
    )


def test_who_is_told_to_come_back_is_told_when() -> None:
    assert response(Verdict("busy", "why"))["status"]["details"] == {"retryAfterSeconds": 1}


def test_what_nobody_reviewed_under_ignore_is_let_through_with_a_warning() -> None:
    assert response(Verdict("unreviewed", warnings=["not reviewed"])) == {
        "uid": "u-1",
        "allowed": True,
        "warnings": ["not reviewed"],
    }


def test_warnings_are_few_short_and_of_one_line() -> None:
    found = response(Verdict(warnings=["a\nb", "a\nb", *(f"{number} " * 200 for number in range(50))]))["warnings"]
    assert found[0] == "a b"
    assert len(found) == 15
    assert max(map(len, found)) == 256


def test_a_patch_goes_as_base64() -> None:
    patch = [{"op": "add", "path": "/spec/size", "value": 1}]
    found = response(Verdict(patch=patch))
    assert found["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(found["patch"])) == patch
