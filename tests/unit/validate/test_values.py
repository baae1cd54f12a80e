"""Which regular expressions `validate` takes for Go's."""

from __future__ import annotations

import pytest

from runner.validate.values import refused_by_go


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
