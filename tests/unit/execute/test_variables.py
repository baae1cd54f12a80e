"""Extra vars: their parts, which part wins, what is marked unsafe, and keys that meet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import ansible
import pytest
from ansible.constants import COMMON_CONNECTION_VARS, INTERNAL_STATIC_VARS, MAGIC_VARIABLE_MAPPING
from hypothesis import given
from hypothesis import strategies as st

from runner.config.watches import Content, Finalizer, Watch
from runner.execute.variables import (
    MARK_PREFIX,
    MOST_WARNINGS,
    extra_vars,
    steers_ansible,
    to_snake,
    variable_name,
)
from runner.objects import GroupVersionKind

WATCH = Watch(GroupVersionKind("cert-manager.io", "v1", "Foo"), Content(Path("/roles/foo"), is_role=True))
_DOCUMENTED = re.compile(
    r"^ *vars:\n((?: *(?:- *\{? *)?(?:name|version_added|version|deprecated|why|alternatives):?.*\n)+)",
    re.MULTILINE,
)
"""The `vars:` of an option, in Ansible's own configuration and in the documentation of its plugins."""
_NAME = re.compile(r"name: *([a-z_]+)")
META = {"name": "one", "namespace": "ns", "labels": {"appName": "x"}}


def body(spec: Any = None) -> dict[str, Any]:
    made = {"apiVersion": "cert-manager.io/v1", "kind": "Foo", "metadata": META, "status": {"okCount": 1}}
    return made if spec is None else made | {"spec": spec}


def values(spec: Any = None, *, watch: Watch = WATCH, finalizing: bool = False) -> dict[str, Any]:
    return dict(extra_vars(body(spec), watch, finalizing=finalizing).values)


@pytest.mark.parametrize(
    ("gvk", "name"),
    [
        (GroupVersionKind("cert-manager.io", "v1", "Foo"), "_cert_manager_io_foo"),
        (GroupVersionKind("", "v1", "Secret"), "__secret"),
        (GroupVersionKind("apps", "v1", "DaemonSet"), "_apps_daemonset"),
    ],
)
def test_the_object_is_in_a_variable_named_after_its_kind(gvk: GroupVersionKind, name: str) -> None:
    assert variable_name(gvk) == name


def test_the_spec_comes_in_snake_case_through_maps_and_lists() -> None:
    spec = {"podSize": 3, "sideCars": [{"memLimit": None}, [{"cpuLimit": 1.5}], "asIs"]}

    made = values(spec)

    assert made["pod_size"] == 3
    assert made["side_cars"] == [{"mem_limit": None}, [{"cpu_limit": 1.5}], "asIs"]


def test_the_spec_comes_as_it_is_where_the_watch_says_so() -> None:
    made = values({"podSize": {"aB": 1}}, watch=replace(WATCH, snake_case=False))

    assert made["podSize"] == {"aB": 1}


def test_the_whole_object_and_its_spec_come_as_they_are() -> None:
    made = values({"podSize": 3})

    assert made["_cert_manager_io_foo"] == body({"podSize": 3})
    assert made["_cert_manager_io_foo_spec"] == {"podSize": 3}
    assert made["ansible_operator_meta"] == {"name": "one", "namespace": "ns"}


def test_a_cluster_scoped_object_has_an_empty_namespace() -> None:
    made = extra_vars({"metadata": {"name": "one"}}, WATCH, finalizing=False).values

    assert made["ansible_operator_meta"] == {"name": "one", "namespace": ""}


@pytest.mark.parametrize("spec", [None, "text", 3, ["a"]])
def test_a_spec_that_is_no_map_gives_no_variables(spec: Any) -> None:
    made = values(spec)

    assert set(made) == {"ansible_operator_meta", "_cert_manager_io_foo", "_cert_manager_io_foo_spec"}
    assert made["_cert_manager_io_foo_spec"] == {}


@pytest.mark.parametrize("managed", [True, False])
def test_an_absent_spec_is_empty_in_the_object_only_without_status_management(managed: bool) -> None:
    made = values(watch=replace(WATCH, manage_status=managed))

    assert ("spec" in made["_cert_manager_io_foo"]) is not managed


def test_later_parts_win() -> None:
    spec = {"ansibleOperatorMeta": "mine", "size": 1, "color": "spec"}
    watch = replace(
        WATCH, vars={"size": 2, "color": "watch"}, finalizer=Finalizer("f", vars={"color": "finalizer"})
    )

    made = values(spec, watch=watch, finalizing=True)

    assert made["ansible_operator_meta"] == {"name": "one", "namespace": "ns"}
    assert (made["size"], made["color"]) == (2, "finalizer")


def test_the_finalizers_vars_are_for_deletion_runs_only() -> None:
    watch = replace(WATCH, finalizer=Finalizer("f", vars={"gone": True}))

    assert "gone" not in values(watch=watch)


def test_mark_unsafe_wraps_the_strings_of_the_resource_and_of_nothing_else() -> None:
    watch = replace(WATCH, mark_unsafe=True, vars={"mine": "{{ size }}"})

    made = values({"someText": "{{ evil }}", "list": ["x", 1, None, True]}, watch=watch)

    assert made["some_text"] == {"__ansible_unsafe": "{{ evil }}"}
    assert made["list"] == [{"__ansible_unsafe": "x"}, 1, None, True]
    assert made["_cert_manager_io_foo"]["metadata"]["name"] == {"__ansible_unsafe": "one"}
    assert made["_cert_manager_io_foo_spec"]["someText"] == {"__ansible_unsafe": "{{ evil }}"}
    assert made["ansible_operator_meta"]["name"] == "one"
    assert made["mine"] == "{{ size }}"


@pytest.mark.parametrize(
    "spec",
    [
        {"foo_bar": 1, "fooBar": 2, "foo-bar": 3},
        {"foo-bar": 3, "fooBar": 2, "foo_bar": 1},
    ],
)
def test_of_keys_that_meet_the_one_in_snake_case_wins_whatever_the_order(spec: dict[str, int]) -> None:
    assert values(spec)["foo_bar"] == 1


def test_of_keys_that_meet_without_that_the_first_when_sorted_wins() -> None:
    assert values({"fooBar": 1, "foo-bar": 2})["foo_bar"] == 2


def test_keys_that_meet_are_warned_about_with_their_place() -> None:
    made = extra_vars(body({"deep": [{"fooBar": 1, "foo_bar": 2}]}), WATCH, finalizing=False)

    (warning,) = made.warnings
    assert warning.startswith('spec.deep[0]: the keys "fooBar" and "foo_bar" all become the variable "foo_bar"')


UNSAFE = replace(WATCH, mark_unsafe=True)


@pytest.mark.parametrize(
    "key", ["ansibleBecome", "AnsibleBecome", "ansible_become_exe", "ANSIBLE_CONNECTION", "hostvars", "omit"]
)
def test_mark_unsafe_leaves_out_what_would_steer_ansible_and_warns(key: str) -> None:
    made = extra_vars(body({key: "yes", "size": 3}), UNSAFE, finalizing=False)

    assert set(made.values) == {
        "size",
        "ansible_operator_meta",
        "_cert_manager_io_foo",
        "_cert_manager_io_foo_spec",
    }
    (warning,) = made.warnings
    assert warning.startswith(f'spec: "{to_snake(key)}" left out: with markUnsafe')


def test_without_snake_case_names_that_steer_ansible_are_left_out_too() -> None:
    made = values({"ansible_become": True, "ansibleBecome": 1}, watch=replace(UNSAFE, snake_case=False))

    assert "ansible_become" not in made
    assert made["ansibleBecome"] == 1


def test_without_mark_unsafe_every_variable_is_set_as_in_the_go_operator() -> None:
    assert values({"ansibleBecome": True})["ansible_become"] is True


def test_the_watchs_own_vars_may_steer_ansible() -> None:
    watch = replace(UNSAFE, vars={"ansible_connection": "local"})

    assert values({"ansibleConnection": "ssh"}, watch=watch)["ansible_connection"] == "local"


def test_every_variable_that_ansible_itself_acts_on_is_known() -> None:
    names = {*INTERNAL_STATIC_VARS, *COMMON_CONNECTION_VARS, *chain(*MAGIC_VARIABLE_MAPPING.values())}
    plugins = Path(ansible.__file__).parent
    documented = chain(*(_DOCUMENTED.findall(path.read_text()) for path in plugins.rglob("*.py")))
    configured = chain(*(_DOCUMENTED.findall(path.read_text()) for path in plugins.glob("config/*.yml")))
    names |= {name for block in (*documented, *configured) for name in _NAME.findall(block)}

    assert len(names) > 150
    assert {name for name in names if not steers_ansible(name)} <= {"_z_test_entry"}


@pytest.mark.parametrize(
    "marked",
    [
        {"__ansible_unsafe": "x"},
        {"__ansible_unsafe": 5},
        {"__ansible_vault": "x"},
        {"__ansible_type": "TrustedAsTemplate"},
        {"__AnsibleVault": "x"},
    ],
)
def test_mark_unsafe_leaves_out_keys_that_ansible_takes_for_marks(marked: dict[str, Any]) -> None:
    made = extra_vars(body({**marked, "deep": [marked]}), UNSAFE, finalizing=False)

    assert list(_foreign_marks(made.values)) == []
    assert len(made.warnings) == 1


def test_a_name_that_holds_jinja_is_unsafe_as_well() -> None:
    meta = {"metadata": {"name": "{{ evil }}", "namespace": "ns"}}

    made = extra_vars(meta, UNSAFE, finalizing=False).values["ansible_operator_meta"]

    assert made == {"name": {"__ansible_unsafe": "{{ evil }}"}, "namespace": "ns"}


def test_warnings_are_few_and_short_however_many_keys_meet() -> None:
    long = "k" * 100_000
    many = {f"{name}{number}": 0 for number in range(500) for name in ("fooBar", "foo_bar")}
    spec = {
        **many,
        f"{long}A": 1,
        f"{long}a": 2,
        "deep": {f"{long}{number}": {f"{long}A": 1, f"{long}a": 1} for number in range(9)},
    }

    made = extra_vars(body(spec), WATCH, finalizing=False)

    assert len(made.warnings) == MOST_WARNINGS + 1
    assert all(len(warning) < 1000 for warning in made.warnings)


def test_an_empty_key_passes_through() -> None:
    assert values({"data": {"": 1, " ": 2}})["data"] == {"": 1, " ": 2}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


KEYS = st.text() | st.sampled_from(
    [
        "__ansible_unsafe",
        "__ansible_vault",
        "__AnsibleUnsafe",
        "ansibleBecome",
        "ansible_become",
        "vars",
        "{{ evil }}",
    ]
)
HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
    max_leaves=30,
)


@given(st.dictionaries(KEYS, HOSTILE), st.booleans())
def test_whatever_a_tenant_writes_ansible_reads_as_unsafe_text(spec: dict[str, Any], snake_case: bool) -> None:
    made = extra_vars(body(spec), replace(UNSAFE, snake_case=snake_case), finalizing=False).values

    assert list(_foreign_marks(made)) == []
    assert [name for name in made if steers_ansible(name)] == ["ansible_operator_meta"]
    assert {type(text) for text in _texts({**made, "ansible_operator_meta": None})} <= {Unsafe}


@given(st.dictionaries(st.text(), JSON), st.booleans())
def test_any_spec_can_be_converted_and_stays_as_it_was_in_its_own_variable(
    spec: dict[str, Any], mark_unsafe: bool
) -> None:
    before = repr(spec)

    made = values(spec, watch=replace(WATCH, mark_unsafe=mark_unsafe))

    left_out = {key for key in spec if mark_unsafe and key.startswith(MARK_PREFIX)}
    assert repr(spec) == before
    assert set(made["_cert_manager_io_foo_spec"]) == set(spec) - left_out


class Unsafe(str):
    """A string as Ansible reads it that is wrapped."""


def _texts(value: Any) -> Iterator[str]:
    """Every string, as Ansible's reader tells them apart."""
    if isinstance(value, dict) and set(value) == {"__ansible_unsafe"}:
        yield Unsafe(value["__ansible_unsafe"])
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def _foreign_marks(value: Any) -> Iterator[str]:
    """Keys that Ansible's reader takes for marks, other than one around a string."""
    if isinstance(value, list):
        for item in value:
            yield from _foreign_marks(item)
    elif isinstance(value, Mapping):
        if not (set(value) == {"__ansible_unsafe"} and isinstance(value["__ansible_unsafe"], str)):
            yield from (key for key in value if key.startswith("__ansible_"))
        for item in value.values():
            yield from _foreign_marks(item)


@pytest.mark.parametrize("watch", [WATCH, UNSAFE])
def test_what_a_run_is_told_of_itself_is_never_rendered(watch: Watch) -> None:
    text = "{{ lookup('pipe', 'id') }}"
    run = {"attempt": 1, "reasons": [{"manager": text, "fields": [text]}]}
    made = extra_vars(body({"ansibleOperatorRun": "mine"}), watch, finalizing=False, run=run).values
    unsafe = {"__ansible_unsafe": text}
    assert made["ansible_operator_run"] == {"attempt": 1, "reasons": [{"manager": unsafe, "fields": [unsafe]}]}
