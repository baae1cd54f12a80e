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
from runner.errors import ReviewError
from runner.objects import LEVELS, Body, GroupVersionKind
from runner.serve.admission import conversion
from runner.serve.admission.conversion import LARGEST_ANNOTATIONS, LOST, UNCONVERTED

GVK = GroupVersionKind("example.com", "v1", "Thing")
MAPS = {
    "renamed": Conversion({"size": "spec.replicas"}, {"replicas": "spec.size"}),
    "moved": Conversion({"storage.size": "spec.volume"}, {"volume": "spec.storage.size"}),
    "split": Conversion({"first": "spec.names[0]"}, {"names": "[spec.first]"}),
    "lossy": Conversion({"text": "to_string(spec.number)"}, {}),
    "one-way": Conversion({}, {"replicas": "spec.size"}),
    "same-name": Conversion({"size": "to_string(spec.size)"}, {"size": "to_number(spec.size)"}),
    "nothing": Conversion(),
    "length": Conversion({"count": "length(spec.items)"}, {}),
    "number": Conversion({"size": "to_number(spec.text)"}, {}),
    "deeper": Conversion({"storage.size": "spec.volume", "storage.more.size": "spec.volume"}, {}),
}


def watch(*names: str) -> Watch:
    content = Content(Path("/roles/thing"), is_role=True)
    return Watch(GVK, content, conversions={f"v1-{name}": MAPS[name] for name in names})


def thing(spec: Any = ..., version: str = "v1", **metadata: Any) -> dict[str, Any]:
    body = {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": "a", **metadata}}
    return body if spec is ... else {**body, "spec": spec}


def convert(body: Body, watch: Watch, version: str) -> Body:
    """Convert an object that can be."""
    result = conversion.convert(body, watch, version)
    assert result.why == ""
    return result.body


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


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
    "text",
    [
        "",
        "[",
        "[]",
        '{"v1": 7}',
        '{"v1": [[1]]}',
        '{"v1": [[["metadata"], [], [1]]]}',
        json.dumps({"v1": [[["spec", *"x" * 900], [], [1]]]}),
        '{"v1": [[["spec", "x"], [], [%s]]]}' % ("[" * 900 + "]" * 900),
        '{"v1": [[["spec", "x"], [], [%s]]]}' % ("[" * 90_000),
        '{"v1": [[["spec", "x"], [], [Infinity]]]}',
        '{"v1": [[["spec", "x"], [], [1%s]]]}' % ("0" * 400),
    ],
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
    there = conversion.convert(body, watch(name), versions[1]).body
    back = conversion.convert(there, watch(name), versions[0]).body
    assert json.dumps(back, sort_keys=True) == before
    assert json.dumps(body, sort_keys=True) == before


@pytest.mark.parametrize(
    ("name", "spec", "why"),
    [
        ("length", {"items": 3}, "length"),
        ("length", {}, "length"),
        ("number", {"text": "1e999"}, "a number of it that JSON does not have"),
        ("number", {"text": "nan"}, "a number of it that JSON does not have"),
        ("number", {"text": "9" * 400}, "a number of it that is too large"),
        ("deeper", {"volume": nested(LEVELS - 3)}, "deeper than 128 levels"),
        ("split", {"names": ["a", "b" * LARGEST_ANNOTATIONS]}, "more than an annotation can keep: 256 KiB"),
    ],
)
def test_a_spec_that_cannot_be_converted_is_carried_over_and_back(name: str, spec: Any, why: str) -> None:
    body = thing(spec, annotations={"a": "b"})
    there, reason = conversion.convert(body, watch(name), f"v1-{name}")
    assert why in reason
    assert there == thing(spec, f"v1-{name}", annotations={"a": "b", UNCONVERTED: "v1"})
    assert convert(there, watch(name), "v1") == body


def test_an_unconverted_spec_is_converted_as_soon_as_it_can_be() -> None:
    there = conversion.convert(thing({"items": 3}), watch("length"), "v1-length").body
    changed = {**there, "spec": {"items": [1, 2]}}
    assert spec_of(convert(changed, watch("length", "nothing"), "v1-nothing")) == {"items": [1, 2]}
    again = conversion.convert({**changed, "apiVersion": "example.com/v1"}, watch("length"), "v1-length")
    assert (again.why, spec_of(again.body)["count"]) == ("", 2)
    assert UNCONVERTED not in again.body["metadata"].get("annotations", {})


def test_an_unconverted_spec_is_not_noted_where_the_annotations_are_full() -> None:
    full = {"a": "x" * (LARGEST_ANNOTATIONS - 1)}
    assert conversion.convert(thing({}, annotations=full), watch("length"), "v1-length").body == thing(
        {}, "v1-length", annotations=full
    )


def test_annotations_stay_within_the_limit_of_the_api_server() -> None:
    body = thing({"names": ["a", "b" * 1000]}, annotations={"a": "x" * (LARGEST_ANNOTATIONS - 1000)})
    there, why = conversion.convert(body, watch("split"), "v1-split")
    assert "more than an annotation can keep" in why
    assert conversion._size(there["metadata"]["annotations"]) <= LARGEST_ANNOTATIONS


def test_a_version_that_is_not_in_watches_yaml_is_an_error_of_the_operator() -> None:
    with pytest.raises(ReviewError, match="has no version v9"):
        conversion.convert(thing({}), watch("renamed"), "v9")
    with pytest.raises(ReviewError, match="has no version v9"):
        conversion.convert(thing({}, "v9"), watch("renamed"), "v1")


def test_a_map_is_removed_that_a_moved_field_leaves_empty_but_no_other() -> None:
    body = thing({"storage": {"size": 3}, "empty": {}}, "v1-moved")
    assert spec_of(convert(body, watch("moved"), "v1")) == {"volume": 3, "empty": {}}
