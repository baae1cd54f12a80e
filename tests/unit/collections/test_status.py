"""What k8s_status decides, without an API server."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.operator_sdk.util.plugins.module_utils.status import merged, validated

READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Up",
    "message": "m",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
LATER = "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"status": "True"}, "'type' must be set"),
        ({"type": "A"}, "'status' must be set"),
        ({"type": "A", "status": "Yes"}, "'status' must be one of True, False, Unknown"),
        (
            {"type": "A", "status": "True", "reason": "two words"},
            "Condition 'reason' must be a single, CamelCase word",
        ),
        ({"type": "A", "status": "True", "reason": "Up2"}, "Condition 'reason' must be a single, CamelCase word"),
        ({"type": "A", "status": "True", "lastTransitionTime": "now"}, "'lastTransitionTime' must be an RFC3339"),
        (
            {"type": "A", "status": "True", "lastHeartbeatTime": "2026-01-01"},
            "'lastHeartbeatTime' must be an RFC3339",
        ),
        ({"type": "A", "status": "True", "observed": 1}, "'observed' is no field of a condition"),
    ],
)
def test_a_condition_with_invalid_fields_is_refused(condition: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        validated([condition])


@pytest.mark.parametrize(
    "time",
    ["2026-01-01T00:00:00Z", "2026-01-01 00:00Z", "2026-01-01T00:00:00.123+02:00", "2026-01-01T00:00-01:00"],
)
def test_times_may_be_written_in_several_ways(time: str) -> None:
    assert validated([{"type": "A", "status": "True", "lastTransitionTime": time}])


def test_a_boolean_status_is_taken_for_its_name_and_null_for_absent() -> None:
    assert validated([{"type": "A", "status": True, "reason": None}]) == [{"type": "A", "status": "True"}]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a": 1}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}),
        ({"a": [1, {"b": 2}]}, {"a": [{"b": 2}]}),
        ({"a": 1}, {"b": None}),
        ({"conditions": [READY]}, {"conditions": [{"type": "Ready", "status": "True"}]}),
        ({"conditions": [READY]}, {"conditions": [{**READY, "lastTransitionTime": LATER}]}),
        (None, {}),
    ],
)
def test_fields_that_the_status_has_already_are_not_sent(old: Any, new: dict[str, Any]) -> None:
    assert merged(old, new, replace_lists=False) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": True}),
        ({"a": [1]}, {"a": [2]}),
        ({"a": 1}, {"a": None}),
        ({"a": {"b": 1}}, {"a": [1]}),
        (None, {"a": 1}),
    ],
)
def test_fields_that_the_status_lacks_are_sent_as_they_are(old: Any, new: dict[str, Any]) -> None:
    assert merged(old, new, replace_lists=False) == new


def test_whole_lists_are_compared_where_they_are_to_be_replaced_but_conditions_are_not() -> None:
    old = {"a": [1, 2], "conditions": [READY, {"type": "Other", "status": "True"}]}
    assert merged(old, {"a": [1]}, replace_lists=True) == {"a": [1]}
    assert merged(old, {"conditions": [READY]}, replace_lists=True) is None


def test_a_condition_that_differs_is_replaced_as_a_whole_and_the_others_stay() -> None:
    other = {"type": "Other", "status": "True"}
    changed, new = {"type": "Ready", "status": "False"}, {"type": "New", "status": "Unknown"}
    assert merged({"conditions": [READY, other]}, {"conditions": [changed, new]}, replace_lists=False) == {
        "conditions": [changed, other, new]
    }
