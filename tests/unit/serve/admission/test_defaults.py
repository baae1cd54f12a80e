"""Defaults that tasks publish, as a patch of the spec."""

from __future__ import annotations

from typing import Any

import pytest

from runner.serve.admission.defaults import patch_for


def patch(spec: Any, data: dict[str, Any], *, snake_case: bool = True) -> dict[str, Any]:
    body = {} if spec is ... else {"spec": spec}
    operations = patch_for(body, data, snake_case=snake_case)
    assert {operation["op"] for operation in operations} <= {"add"}
    return {operation["path"]: operation["value"] for operation in operations}


@pytest.mark.parametrize(
    ("spec", "data", "expected"),
    [
        ({}, {"size": 1}, {"/spec/size": 1}),
        ({"size": 5}, {"size": 1}, {}),
        ({"size": None}, {"size": 1}, {"/spec/size": 1}),
        ({}, {"pull_policy": "Always"}, {"/spec/pullPolicy": "Always"}),
        ({"pull_policy": "Never"}, {"pull_policy": "Always"}, {}),
        ({"pullPolicy": "Never"}, {"pull_policy": "Always"}, {}),
        ({"a": {"b": 1}}, {"a": {"b": 2, "max_size": 3}}, {"/spec/a/maxSize": 3}),
        ({"a": [1]}, {"a": [2]}, {}),
        ({"a": 1}, {"a": {"b": 2}}, {}),
        ({}, {"a": [{"max_size": 1}]}, {"/spec/a": [{"maxSize": 1}]}),
        (..., {"max_size": 1}, {"/spec": {"maxSize": 1}}),
        (None, {"a": 1}, {"/spec": {"a": 1}}),
        ({}, {"a/b~c": 1}, {"/spec/a~1b~0c": 1}),
        ({}, {}, {}),
    ],
)
def test_what_is_absent_is_filled_in_and_nothing_else(spec: Any, data: dict[str, Any], expected: Any) -> None:
    assert patch(spec, data) == expected


def test_without_snake_case_names_stay_as_they_are() -> None:
    assert patch({}, {"pull_policy": {"a_b": 1}}, snake_case=False) == {"/spec/pull_policy": {"a_b": 1}}
