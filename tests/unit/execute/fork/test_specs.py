"""What the process that validates by argument specs says: whether, by Ansible's own validator, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from hypothesis import given
from hypothesis import strategies as st

from runner.execute.fork.inside.specs import Answers, _read, mistakes, numbered

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
        ({"size": "inf"}, ["size"], 'must be a whole number, is "inf" (How many pods to run)'),
        ({"ports": [1, "inf"]}, ["ports"], 'must be a list of int, is [1, "inf"]'),
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


PASSWORD = "hunter2-secret"
LOGIN: dict[str, Any] = {
    "password": {"choices": ["a", "b"]},
    "mode": {"type": "str"},
    "port": {"type": "int"},
    "token": {"type": "dict", "options": {"bits": {"type": "int"}}},
    "old": {"type": "list", "elements": "int"},
    "more": {"type": "list", "elements": "dict", "options": {"pin": {"type": "int", "required": True}}},
}
RULES: dict[str, Any] = {
    "mutually_exclusive": [["mode", "port"]],
    "required_if": [["mode", PASSWORD, ["port"]]],
}
SECRET: dict[str, dict[str, Any]] = {
    "login": {"type": "dict", "no_log": True, "options": LOGIN, **RULES},
    "logins": {"type": "list", "elements": "dict", "no_log": True, "options": LOGIN, **RULES},
    "open": {"type": "dict", "options": {"inner": {"type": "dict", "no_log": True, "options": LOGIN}}},
    "rules": {"type": "dict", "options": {"mode": {"no_log": True}, "port": {}}, **RULES},
    "any": {"type": "dict", "options": {"values": {"no_log": True, "type": "list", "elements": "int"}}},
}
WRONG: list[dict[str, Any]] = [
    {"password": PASSWORD},
    {"port": PASSWORD},
    {"token": PASSWORD},
    {"token": {"bits": PASSWORD}},
    {"token": {PASSWORD: 1}},
    {"old": [1, PASSWORD]},
    {"old": {PASSWORD: 1}},
    {"more": [{"pin": 1}, PASSWORD]},
    {"more": [{"pin": 1}, {"pin": PASSWORD}]},
    {"more": [{PASSWORD: 1}]},
    {PASSWORD: 1},
    {"mode": PASSWORD},
    {"mode": PASSWORD, "port": 1},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
@pytest.mark.parametrize("option", ["login", "logins", "open"])
def test_nothing_below_an_option_with_no_log_is_shown(option: str, wrong: dict[str, Any]) -> None:
    values = {"login": wrong, "logins": [{}, wrong], "open": {"inner": wrong}}[option]
    found = mistakes(SECRET, {option: values}, templated=False)
    assert found or option == "open"  # whose inner option has no rules
    assert PASSWORD not in str(found)


@pytest.mark.parametrize(
    "values",
    [
        {"login": PASSWORD},
        {"logins": PASSWORD},
        {"logins": [PASSWORD]},
        {"open": {"inner": PASSWORD}},
        {"rules": {"mode": PASSWORD}},
        {"any": {"values": [1, PASSWORD]}},
        {"any": {"values": {PASSWORD: 1}}},
    ],
    ids=str,
)
def test_a_value_with_no_log_is_not_shown_whatever_its_type(values: dict[str, Any]) -> None:
    found = mistakes(SECRET, values, templated=False)
    assert found
    assert PASSWORD not in str(found)


def test_a_mistake_below_no_log_has_its_path_and_what_is_allowed() -> None:
    found = mistakes(SECRET, {"logins": [{}, {"password": "x", "old": [1, "x"], "z": 1}]}, templated=False)
    assert [(mistake["path"], mistake["text"]) for mistake in found] == [
        (["logins", 1], "has an unknown field; known are mode, more, old, password, port, token"),
        (["logins", 1, "password"], 'must be one of "a", "b"'),
        (["logins", 1, "old", 1], "must be a whole number"),
    ]


VALUES_OF_LOGIN = st.dictionaries(
    st.sampled_from([*LOGIN, PASSWORD, "pin", "bits"]),
    st.recursive(
        st.just(PASSWORD) | st.just(1),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(["pin", "bits", PASSWORD]), inner, max_size=2)
        ),
        max_leaves=4,
    ),
    max_size=3,
)


@given(VALUES_OF_LOGIN)
def test_whatever_is_below_no_log_it_is_not_shown(values: dict[str, Any]) -> None:
    given_ = {"login": values, "logins": [values], "open": {"inner": values}}
    assert PASSWORD not in str(mistakes(SECRET, given_, templated=False))


@pytest.mark.parametrize(("option", "quoted"), [("{}", True), ("{no_log: true}", False)])
def test_an_error_of_the_validator_is_quoted_only_where_no_option_has_no_log(
    tmp_path: Path, option: str, *, quoted: bool
) -> None:
    """Such an error may quote a value."""
    options = f"{{a: {{type: dict, options: {{b: {option}}}}}, c: {{type: dict, options: 7}}}}"
    file = role(tmp_path, f"argument_specs: {{main: {{options: {options}}}}}")
    answer = Answers().answer({"file": str(file), "values": {"c": {"d": "x"}}, "templated": False})
    kind, _, text = answer["broken"].removeprefix(f"{file}: ").partition(": ")
    assert kind.endswith("Error")
    assert bool(text) is quoted


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


@pytest.mark.parametrize(
    "value", [{"image": "3"}, {"size": "many"}, {"size": "inf"}, {"size": None}, {"other": "3"}]
)
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
