"""Which arguments and variables make a run only a part of its content."""

from __future__ import annotations

import pytest

from runner.config.arguments import partial, unquoted


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ("", ""),
        ("-vvv --forks 10 --diff -e tags=web", ""),
        ("-e '--tags'", "--tags"),
        ("--tags web", "--tags"),
        ("--tags=web", "--tags"),
        ("--tag web", "--tag"),
        ("-t web", "-t"),
        ("-vvt web", "-vvt"),
        ("-vD --limit localhost", "--limit"),
        ("-l localhost", "-l"),
        ("--skip-tags slow", "--skip-tags"),
        ("--start-at-task 'Keep the Service'", "--start-at-task"),
        ("--check", "--check"),
        ("-C", "-C"),
        ("'--tags web'", "--tags"),
        ("--tags 'web", "--tags"),
    ],
)
def test_an_option_that_leaves_tasks_out_is_found(arguments: str, option: str) -> None:
    assert partial(arguments, {}) == option


@pytest.mark.parametrize("name", ["ANSIBLE_RUN_TAGS", "ANSIBLE_SKIP_TAGS"])
def test_so_is_a_variable_that_does(name: str) -> None:
    assert partial("-v", {name: "web"}) == name
    assert partial("-v", {name: ""}) == ""


def test_to_skip_all_tags_leaves_all_out() -> None:
    assert partial("", {"ANSIBLE_SKIP_TAGS": "all"}) == "ANSIBLE_SKIP_TAGS"


def test_all_tags_leave_nothing_out() -> None:
    assert partial("", {"ANSIBLE_RUN_TAGS": "all"}) == ""


@pytest.mark.parametrize(
    ("given", "used"), [("'-v'", "-v"), ("-e 'a b'", "-e 'a b'"), ("'", "'"), ("''", ""), ("'a", "'a")]
)
def test_one_pair_of_quotes_around_ansible_args_is_removed(given: str, used: str) -> None:
    assert unquoted(given) == used
