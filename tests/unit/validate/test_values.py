"""Which values fit a schema, and which regular expressions `validate` takes for Go's."""

from __future__ import annotations

import pytest

from runner.config.yamlfile import read_yaml
from runner.validate.manifests.values import LONGEST_MESSAGE, misfits, refused_by_go


def said(schema: str, value: str) -> list[tuple[str, str]]:
    """Field and message of each misfit."""
    found = misfits(read_yaml(schema, "crd.yaml").plain(), read_yaml(value, "cr.yaml"))
    return [(field, message) for _, field, message in found]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("{oneOf: [{properties: {a: {format: ipv4}}}, {properties: {a: {format: ipv6}}}]}", "{a: '::1'}"),
        ("{properties: {a: {not: {pattern: '^[[:alpha:]]+$'}}}}", "{a: '1'}"),
        ("{properties: {a: {type: string, pattern: '^(?<word>x)$'}}}", "{a: z}"),
    ],
)
def test_what_is_not_checked_is_not_held_against_a_value(schema: str, value: str) -> None:
    assert said(schema, value) == []


def test_alternatives_are_named_and_not_quoted() -> None:
    schema = "{properties: {a: {anyOf: [{minimum: 5}, {maximum: 2}]}}}"
    assert said(schema, "a: 3") == [("a", "fits none of the alternatives of `anyOf` in the schema")]


def test_a_large_value_is_not_quoted_as_a_whole() -> None:
    ((_, message),) = said("{properties: {a: {type: array}}}", f"a: {{b: {'x' * 1000}}}")
    assert len(message) < LONGEST_MESSAGE + 5
    assert message.endswith("is not of type 'array'")


def test_a_schema_that_is_none_says_nothing_of_values() -> None:
    assert said("{properties: {a: {type: [1], required: {b: 1}}}}", "a: {}") == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-z!$&'()*+,;=:]+\/[0-9]+$",
        r"^a\++b\\1$",
        r"[]*+]",
        r"^\p{L}+\z",
        r"^[[:alpha:]]+$",
        "(?<name>a)(?P<other>b)",
        "(?i)a{2,3}?",
        "^(?i)a$",
        "",
    ],
)
def test_a_regular_expression_that_go_compiles_is_taken(pattern: str) -> None:
    assert refused_by_go(pattern) == ""


@pytest.mark.parametrize("pattern", ["(?!a)b", "(?<=a)b", r"(a)\1", "a++", "a*+", "[", "(", "a{2}{3}(", "*a"])
def test_a_regular_expression_that_go_does_not_compile_is_refused(pattern: str) -> None:
    assert refused_by_go(pattern) != ""
