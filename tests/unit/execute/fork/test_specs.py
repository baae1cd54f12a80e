"""What the process that validates by argument specs says: whether, by Ansible's own validator, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from hypothesis import given
from hypothesis import strategies as st

from runner.execute.fork.inside.specs import _read, mistakes, numbered

OPTIONS: dict[str, dict[str, Any]] = {
    "image": {"type": "str", "required": True, "description": "The image to run"},
    "size": {"type": "int", "description": ["How many pods", "to run"]},
    "mode": {"type": "str", "choices": ["fast", "safe"]},
    "debug": {"type": "bool"},
    "ports": {"type": "list", "elements": "int"},
    "secret": {"type": "int", "no_log": True},
    "storage": {
        "type": "list",
        "elements": "dict",
        "mutually_exclusive": [["size_limit", "unlimited"]],
        "options": {
            "name": {"required": True},
            "size_limit": {"type": "int"},
            "unlimited": {"type": "bool"},
            "inner": {"type": "dict", "options": {"deep": {"type": "int"}}},
        },
    },
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.sampled_from(["fast", "7", "x", "true"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "size_limit", "unlimited", "inner", "deep", "more"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


def said(**values: Any) -> list[tuple[list[str | int], str]]:
    found = mistakes(OPTIONS, {"image": "nginx", **values}, templated=False)
    return [(mistake["path"], mistake["text"]) for mistake in found]


def test_what_fits_has_no_mistakes() -> None:
    assert said(size=3, mode="fast", ports=[1, "2"], storage=[{"name": "a", "inner": {"deep": 1}}]) == []


def test_what_no_option_knows_is_not_looked_at() -> None:
    assert said(elsewhere={"a": 1}) == []


@pytest.mark.parametrize(
    ("values", "path", "text"),
    [
        ({"size": "many"}, ["size"], 'must be a whole number, is "many" (How many pods to run)'),
        ({"mode": "slow"}, ["mode"], 'must be one of "fast", "safe", is "slow"'),
        ({"debug": "maybe"}, ["debug"], 'must be true or false, is "maybe"'),
        ({"ports": [1, "x"]}, ["ports", 1], 'must be a whole number, is "x"'),
        ({"ports": {"a": 1}}, ["ports"], 'must be a list of int, is {"a": 1}'),
        ({"storage": [{"name": "a"}, {}]}, ["storage", 1, "name"], "is required"),
        (
            {"storage": [{"name": "a", "inner": {"deep": "x"}}]},
            ["storage", 0, "inner", "deep"],
            'must be a whole number, is "x"',
        ),
        (
            {"storage": [{"name": "a", "siz_limit": 1}]},
            ["storage", 0, "siz_limit"],
            "is unknown; did you mean size_limit?",
        ),
        (
            {"storage": [{"name": "a", "size_limit": 1, "unlimited": True}]},
            ["storage", 0],
            "parameters are mutually exclusive: size_limit|unlimited",
        ),
    ],
)
def test_a_mistake_has_its_path_and_what_is_allowed(values: dict[str, Any], path: list[Any], text: str) -> None:
    assert said(**values) == [(path, text)]


def test_what_is_missing_is_told_in_the_roles_words() -> None:
    (found,) = mistakes(OPTIONS, {}, templated=False)
    assert (found["path"], found["text"]) == (["image"], "is required (The image to run)")


def test_every_mistake_is_told_at_once() -> None:
    assert {tuple(path) for path, _ in said(size="x", mode="y")} == {("size",), ("mode",)}


def test_a_secret_is_not_shown() -> None:
    ((_, text),) = said(secret="hunter2")
    assert text == "must be a whole number"


def test_what_a_template_will_yield_is_not_looked_at() -> None:
    assert mistakes(OPTIONS, {"image": "a", "size": "{{ 3 }}"}, templated=True) == []
    assert mistakes(OPTIONS, {"image": "a", "size": "{{ 3 }}"}, templated=False)


def test_numbers_and_truths_that_a_template_left_strings_are_what_options_want() -> None:
    left: dict[str, Any] = {"size": "3", "debug": "True", "ports": ["80"], "storage": [{"inner": {"deep": "1"}}]}
    assert numbered(OPTIONS, left) == {
        "size": 3,
        "debug": True,
        "ports": [80],
        "storage": [{"inner": {"deep": 1}}],
    }


@pytest.mark.parametrize("value", [{"image": "3"}, {"size": "many"}, {"size": None}, {"other": "3"}])
def test_what_is_or_becomes_no_number_stays(value: dict[str, Any]) -> None:
    assert numbered(OPTIONS, value) == value


@given(
    values=st.fixed_dictionaries(
        {}, optional={name: st.one_of(VALUES, st.lists(VALUES, max_size=2)) for name in OPTIONS}
    )
)
def test_mistakes_are_found_exactly_where_ansible_refuses(values: dict[str, Any]) -> None:
    assert bool(mistakes(OPTIONS, values, templated=False)) == refused(values)


def refused(values: dict[str, Any]) -> bool:
    """The task fails in a run, too, where the validator trips over a value."""
    try:
        return bool(ArgumentSpecValidator(OPTIONS).validate(values).error_messages)
    except TypeError:
        return True


def role(tmp_path: Path, specs: str, **files: str) -> Path:
    for name, text in {"meta/argument_specs.yml": specs, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "meta" / "argument_specs.yml"


def test_the_entry_point_is_that_of_a_run(tmp_path: Path) -> None:
    file = role(tmp_path, "argument_specs: {main: {options: {a: {type: int}}}, other: {options: {b: {}}}}")
    assert list(_read(str(file))) == ["a"]


def test_what_the_role_sets_itself_is_not_required(tmp_path: Path) -> None:
    specs = "argument_specs: {main: {options: {a: {required: true}, b: {required: true}}}}"
    file = role(tmp_path, specs, **{"defaults/main.yml": "a: '{{ b }}'"})
    assert [mistake["path"] for mistake in mistakes(_read(str(file)), {}, templated=False)] == [["b"]]
