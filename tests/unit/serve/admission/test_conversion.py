"""Custom resources in other versions: nothing is lost, whatever the maps are."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.config.admission import Conversion
from runner.config.watches import Content, Watch
from runner.errors import ExpressionError, ReviewError
from runner.objects import GroupVersionKind
from runner.serve.admission.conversion import LOST, answer, convert

GVK = GroupVersionKind("example.com", "v1", "Thing")
MAPS = {
    "renamed": Conversion({"size": "spec.replicas"}, {"replicas": "spec.size"}),
    "moved": Conversion({"storage.size": "spec.volume"}, {"volume": "spec.storage.size"}),
    "split": Conversion({"first": "spec.names[0]"}, {"names": "[spec.first]"}),
    "lossy": Conversion({"text": "to_string(spec.number)"}, {}),
    "one-way": Conversion({}, {"replicas": "spec.size"}),
    "same-name": Conversion({"size": "to_string(spec.size)"}, {"size": "to_number(spec.size)"}),
    "nothing": Conversion(),
}


def watch(*names: str) -> Watch:
    content = Content(Path("/roles/thing"), is_role=True)
    return Watch(GVK, content, conversions={f"v1-{name}": MAPS[name] for name in names})


def thing(spec: Any = ..., version: str = "v1", **metadata: Any) -> dict[str, Any]:
    body = {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": "a", **metadata}}
    return body if spec is ... else {**body, "spec": spec}


def spec_of(body: Any) -> Any:
    return body["spec"]


def test_a_field_is_renamed_both_ways_and_the_rest_carried_over() -> None:
    there = convert(thing({"replicas": 3, "image": "a"}), watch("renamed"), "v1-renamed")
    assert there == thing({"size": 3, "image": "a"}, "v1-renamed")
    assert convert(there, watch("renamed"), "v1") == thing({"replicas": 3, "image": "a"})


def test_a_field_is_moved_into_a_map_and_out_again() -> None:
    there = convert(thing({"volume": 3}), watch("moved"), "v1-moved")
    assert there == thing({"storage": {"size": 3}}, "v1-moved")
    assert convert(there, watch("moved"), "v1") == thing({"volume": 3})


def test_two_other_versions_are_converted_through_that_of_the_watch() -> None:
    both = watch("renamed", "moved")
    there = convert(thing({"size": 2, "volume": 3}, "v1-renamed"), both, "v1-moved")
    assert there == thing({"replicas": 2, "storage": {"size": 3}}, "v1-moved")


def test_metadata_and_status_are_left_alone() -> None:
    body = {**thing({"replicas": 1}, uid="u", labels={"a": "b"}), "status": {"x": 1}}
    there = convert(body, watch("renamed"), "v1-renamed")
    assert (there["metadata"], there["status"]) == (body["metadata"], body["status"])


def test_what_the_maps_cannot_carry_is_noted_and_restored() -> None:
    body = thing({"number": 1.5, "names": ["a", "b"]})
    there = convert(body, watch("split"), "v1-split")
    assert spec_of(there) == {"first": "a", "number": 1.5}
    assert LOST in there["metadata"]["annotations"]
    assert convert(there, watch("split"), "v1") == body


def test_what_was_changed_meanwhile_goes_before_what_was_noted() -> None:
    there = copy.deepcopy(convert(thing({"names": ["a", "b"]}), watch("split"), "v1-split"))
    there["spec"]["first"] = "c"
    assert spec_of(convert(there, watch("split"), "v1")) == {"names": ["c"]}


@pytest.mark.parametrize(
    "text", ["", "[", "[]", '{"v1": 7}', '{"v1": [[1]]}', '{"v1": [[["metadata"], [], [1]]]}']
)
def test_an_annotation_that_somebody_wrote_does_no_harm(text: str) -> None:
    body = thing({"size": 1}, "v1-renamed", annotations={LOST: text})
    assert convert(body, watch("renamed"), "v1") == thing({"replicas": 1})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, width=16)
    | st.sampled_from(["a", "7"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["size", "first", "volume", "a.b"]), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = ["size", "replicas", "storage", "volume", "names", "first", "number", "text", "other"]
SPECS = st.just(...) | st.none() | st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6)
ANNOTATIONS = st.dictionaries(st.sampled_from(["a", "b"]), st.just("x"), min_size=1, max_size=2)


@settings(max_examples=200)
@given(name=st.sampled_from(sorted(MAPS)), spec=SPECS, annotations=st.none() | ANNOTATIONS, hub=st.booleans())
def test_a_round_trip_is_the_identity(name: str, spec: Any, annotations: Any, hub: bool) -> None:
    versions = ("v1", f"v1-{name}") if hub else (f"v1-{name}", "v1")
    body = thing(spec, versions[0], **({"annotations": annotations} if annotations else {}))
    before = json.dumps(body, sort_keys=True)
    try:
        there = convert(body, watch(name), versions[1])
    except ExpressionError:
        return  # such an object cannot be converted, and is not
    assert json.dumps(convert(there, watch(name), versions[0]), sort_keys=True) == before
    assert json.dumps(body, sort_keys=True) == before


def review(*objects: Any, to: str = "example.com/v1", **changes: Any) -> bytes:
    request = {"uid": "u", "desiredAPIVersion": to, "objects": list(objects), **changes}
    return json.dumps(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    ).encode()


WATCHES = {("example.com", "Thing"): watch("renamed")}


def test_a_review_is_answered_with_every_object() -> None:
    response = answer(review(thing({"size": 1}, "v1-renamed"), thing({"replicas": 2})), WATCHES)["response"]
    assert response["uid"] == "u"
    assert response["result"] == {"status": "Success"}
    assert response["convertedObjects"] == [thing({"replicas": 1}), thing({"replicas": 2})]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (review(thing({}, "v9")), "has no version v9"),
        (review(thing({}), to="example.com/v9"), "has no version v9"),
        (review(thing({}), to="other.com/v1"), "is not converted here"),
        (review({"kind": "Thing"}), "a map with metadata"),
        (review(7), "a map with metadata"),
    ],
)
def test_what_cannot_be_converted_is_failed_with_the_reason(raw: bytes, why: str) -> None:
    response = answer(raw, WATCHES)["response"]
    assert response["result"]["status"] == "Failed"
    assert why in response["result"]["message"]
    assert "convertedObjects" not in response


@pytest.mark.parametrize("changes", [{"objects": None}, {"desiredAPIVersion": 7}, {"uid": ""}])
def test_what_is_no_review_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ReviewError):
        answer(review(**changes), WATCHES)
