"""What an expression of `status:` asks a run for."""

from __future__ import annotations

import pytest

from runner.config.expressions import foreign_keys, uses_children


@pytest.mark.parametrize(
    "expression",
    [
        "children",
        "children[0].status",
        "length(children)",
        "data.x || children",
        "{a: stats.ok, b: children}",
        "[?children]",
        "@",
        "@.children",
        "keys(@)",
        "*",
        "*.x",
    ],
)
def test_an_expression_that_may_yield_something_of_the_children_uses_them(expression: str) -> None:
    assert uses_children(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "data.x",
        "data.children",
        "`1`",
        "data.list[?children].x | [0]",
        "max_by(data.list, &children)",
        "[stats.ok]",
    ],
)
def test_an_expression_that_asks_for_other_things_does_not_use_the_children(expression: str) -> None:
    assert not uses_children(expression)


@pytest.mark.parametrize(
    ("expression", "foreign"), [("result.x", ["result"]), ("keys(@)", []), ("[a, data.b, c.d]", ["a", "c"])]
)
def test_keys_that_no_run_has_are_told(expression: str, foreign: list[str]) -> None:
    assert foreign_keys(expression) == foreign
