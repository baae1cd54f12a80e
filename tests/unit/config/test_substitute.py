"""`$NAME` in watches.yaml: the table measured on the Go operator."""

import pytest

from runner.config.golang import substitute


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${FOO}", "value"),
        ("$FOO", "value"),
        ("$FOO-x", "value-x"),
        ("$FOOx", "${FOOx}"),
        ("${FOO:-x}", "${FOO:-x}"),
        ("$ x", "$ x"),
        ("$.a", "$.a"),
        ('$"', '$"'),
        ("end$", "end$"),
        ("$$", "${$}"),
        ("$1", "${1}"),
        ("$!", "${!}"),
        ("$-", "${-}"),
        ("${}", ""),
        ("${FOO", "FOO"),
        ("${FOO then $FOO", "FOO then value"),
        ("{{ jinja }}", "{{ jinja }}"),
        ("# a $FOO comment", "# a value comment"),
    ],
)
def test_a_reference_becomes_what_go_makes_of_it(text: str, expected: str) -> None:
    assert substitute(text, {"FOO": "value"}) == expected


def test_a_reference_to_an_empty_variable_becomes_empty() -> None:
    assert substitute("a${EMPTY}b", {"EMPTY": ""}) == "ab"
