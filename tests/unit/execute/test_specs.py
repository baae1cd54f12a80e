"""A mistake against argument specs, told to whoever wrote the spec."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.execute.specs import field_name, told
from runner.execute.variables import to_snake


def tell(path: list[str | int], spec: Any, text: str = "is wrong", *names: str, snake_case: bool = True) -> str:
    return told({"path": path, "text": text, "names": names}, spec, snake_case=snake_case)


@pytest.mark.parametrize(
    ("path", "spec", "expected"),
    [
        (["size"], {"size": "x"}, "spec.size: is wrong"),
        (["image_pull_policy"], {"imagePullPolicy": "x"}, "spec.imagePullPolicy: is wrong"),
        (["image_pull_policy"], {}, "spec.imagePullPolicy: is wrong"),
        (["image_pull_policy"], {"image_pull_policy": 1}, "spec.image_pull_policy: is wrong"),
        (["disks", 1, "max_size"], {"disks": [{}, {"maxSize": 1}]}, "spec.disks[1].maxSize: is wrong"),
        (["disks", 0, "max_size"], {"disks": "x"}, "spec.disks[0].maxSize: is wrong"),
        ([], {}, "spec: is wrong"),
        ([], None, "spec: is wrong"),
    ],
)
def test_the_path_is_as_the_user_wrote_it(path: list[str | int], spec: Any, expected: str) -> None:
    assert tell(path, spec) == expected


def test_without_snake_case_names_stay_as_they_are() -> None:
    assert tell(["max_size"], {}, snake_case=False) == "spec.max_size: is wrong"


def test_options_in_the_text_are_named_as_fields() -> None:
    text = "parameters are mutually exclusive: max_size|un_limited"
    assert tell(["disk"], {"disk": {"max_size": 1}}, text, "max_size", "un_limited") == (
        "spec.disk: parameters are mutually exclusive: max_size|unLimited"
    )


@given(st.from_regex(r"[a-z]+(_[a-z]+)*", fullmatch=True))
def test_the_name_of_a_field_leads_back_to_its_variable(name: str) -> None:
    assert to_snake(field_name(name)) == name or field_name(name) == name
