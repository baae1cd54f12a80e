"""Descriptors: what a console is told of fields, made of a CRD's schema."""

from __future__ import annotations

import pytest

from runner.generate.descriptors import display_name, joined, of_spec, of_status

UI = "urn:alm:descriptor:com.tectonic.ui:"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("HelloApp", "Hello App"),
        ("maxSize", "Max Size"),
        ("CIBuild", "CI Build"),
        ("sample-operator", "Sample Operator"),
        ("tlsSecret2", "Tls Secret2"),
        ("x", "X"),
    ],
)
def test_a_name_is_shown_in_words(name: str, words: str) -> None:
    assert display_name(name) == words


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "integer"}, ["number"]),
        ({"type": "boolean"}, ["booleanSwitch"]),
        ({"type": "string"}, ["text"]),
        ({"type": "string", "enum": ["a", "b"]}, ["select:a", "select:b"]),
        ({"type": "string", "format": "password"}, ["password"]),
    ],
)
def test_a_field_is_shown_by_its_type(schema: dict[str, object], shown: list[str]) -> None:
    (one,) = of_spec({"properties": {"f": schema}})
    assert one["x-descriptors"] == [f"{UI}{kind}" for kind in shown]


def test_the_field_that_scale_sets_is_a_count_of_pods() -> None:
    (one,) = of_spec({"properties": {"size": {"type": "integer"}}}, ".spec.size")
    assert one["x-descriptors"] == [f"{UI}podCount"]


def test_fields_in_maps_and_lists_have_their_paths() -> None:
    door = {"type": "object", "properties": {"name": {"type": "string"}}}
    schema = {"properties": {"house": {"properties": {"doors": {"type": "array", "items": door}}}}}
    assert [one["path"] for one in of_spec(schema)] == ["house", "house.doors", "house.doors[0].name"]


def test_a_description_is_one_line() -> None:
    (one,) = of_spec({"properties": {"f": {"description": "How\n  many"}}})
    assert one["description"] == "How many"


def test_conditions_are_shown_as_such() -> None:
    (one,) = of_status({"properties": {"conditions": {"type": "array"}}})
    assert one["x-descriptors"] == ["urn:alm:descriptor:io.kubernetes.conditions"]


def test_what_a_person_has_written_stays() -> None:
    made = [{"path": "a", "displayName": "A"}, {"path": "b", "displayName": "B"}]
    written = [{"path": "b", "displayName": "Better"}, {"path": "c", "displayName": "C"}]
    assert [one["displayName"] for one in joined(made, written)] == ["A", "Better", "C"]
