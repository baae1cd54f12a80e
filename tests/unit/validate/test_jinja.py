"""What Jinja texts ask for, and which cannot be parsed."""

from __future__ import annotations

import pytest

from runner.validate.content.jinja import Broken, Jinja, of_expression, of_template


def parsed(text: str) -> Jinja:
    found = of_template(text)
    assert isinstance(found, Jinja)
    return found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("no jinja", []),
        ("{{ a.b['c'] }}", ["a"]),
        ("{% for x in y %}{{ x }}{{ loop.index }}{% endfor %}", ["y"]),
        ("{% set a = 1 %}{{ a }}", []),
        ("{% macro m(p) %}{{ p }}{% endmacro %}{{ m(other) }}", ["other"]),
        ("{{ lookup('file', name) }}{{ now() }}{{ omit }}{{ range(3) }}", ["name"]),
        ("{% raw %}{{ a }}{% endraw %}", []),
    ],
)
def test_variables_are_those_that_the_text_does_not_define(text: str, names: list[str]) -> None:
    assert [variable.name for variable in parsed(text).variables] == names


@pytest.mark.parametrize(
    "text",
    [
        "{{ a | default(1) }}",
        "{{ a.b.c | d({}) }}",
        "{{ (a + 1) | default(1) }}",
        "{{ a is defined }}",
        "{{ a.b is not defined }}",
        "{{ vars['a'] }}",
        "{{ 'a' in vars }}",
    ],
)
def test_a_variable_that_may_be_undefined_is_guarded(text: str) -> None:
    assert "a" in parsed(text).guarded


@pytest.mark.parametrize("text", ["{{ a }}", "{{ b | default(a) }}", "{{ a is string }}"])
def test_another_variable_is_not_guarded(text: str) -> None:
    assert "a" not in parsed(text).guarded


def test_filters_and_tests_that_are_named_by_a_text_count_too() -> None:
    found = parsed("{{ a | map('trim') | select('odd') | selectattr('b', 'eq', 1) | list }}")
    assert {one.name for one in found.filters} == {"map", "trim", "select", "selectattr", "list"}
    assert {one.name for one in found.tests} == {"odd", "eq"}


def test_chains_end_before_a_method_and_where_they_are_decided_at_run_time() -> None:
    found = parsed("{{ a.b.items() }}{{ c.d[e].f }}{{ g['h'][0].i }}{{ j.get('k') }}")
    assert sorted(path for path, _ in found.paths) == [("a", "b"), ("g", "h", 0, "i")]


def test_lookups_have_their_first_argument_if_it_is_written_out() -> None:
    first, second = parsed("{{ lookup('file', 'a', errors='ignore') }}{{ query('template', b) }}").lookups
    assert (first.name, first.first, set(first.options)) == ("file", "a", {"errors"})
    assert (second.name, second.first) == ("template", "")


@pytest.mark.parametrize(
    ("text", "line"),
    [("{{ a", 1), ("a\n{% if b %}\n", 2), ("a\n\n{{ b | }}", 3), ("{% endfor %}", 1), ("${#a}", 1)],
)
def test_a_text_that_does_not_parse_is_broken_in_its_line(text: str, line: int) -> None:
    found = of_template(text)
    assert isinstance(found, Broken)
    assert found.line == line


@pytest.mark.parametrize(("expression", "broken"), [("a == 1", False), ("{{ a }} == 1", False), ("a = 1", True)])
def test_an_expression_has_no_braces_or_has(expression: str, broken: bool) -> None:
    assert isinstance(of_expression(expression), Broken) is broken


def test_a_backslash_that_python_warns_of_is_no_mistake() -> None:
    assert isinstance(of_template(r"{{ a | regex_replace('\d', '') }}"), Jinja)


@pytest.mark.parametrize(("extensions", "broken"), [(False, True), (True, False)])
def test_statements_of_extensions_need_them(extensions: bool, broken: bool) -> None:
    assert isinstance(of_template("{% do a.append(1) %}", extensions), Broken) is broken
