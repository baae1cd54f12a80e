"""Extra vars: their parts, which part wins, what is marked unsafe, and keys that meet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.execute.variables import extra_vars, variable_name
from runner.objects import GroupVersionKind
from runner.watches import Content, Finalizer, Watch

WATCH = Watch(GroupVersionKind("cert-manager.io", "v1", "Foo"), Content(Path("/roles/foo"), is_role=True))
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


def test_an_empty_key_passes_through() -> None:
    assert values({"data": {"": 1, " ": 2}})["data"] == {"": 1, " ": 2}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON), st.booleans())
def test_any_spec_can_be_converted_and_stays_as_it_was_in_its_own_variable(
    spec: dict[str, Any], mark_unsafe: bool
) -> None:
    before = repr(spec)

    made = values(spec, watch=replace(WATCH, mark_unsafe=mark_unsafe))

    assert repr(spec) == before
    assert set(made["_cert_manager_io_foo_spec"]) == set(spec)
