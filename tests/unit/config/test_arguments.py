"""Which arguments and variables make a run only a part of its content."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.config.arguments import partial, partial_run, unquoted


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


def test_hosts_that_are_missing_in_silence_leave_their_plays_out() -> None:
    assert partial("", {"ANSIBLE_HOST_PATTERN_MISMATCH": "ignore"}) == "ANSIBLE_HOST_PATTERN_MISMATCH"


def test_a_configuration_below_the_home_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.cfg").write_text("[tags]\nskip = slow")
    environment = {"HOME": str(tmp_path), "ANSIBLE_CONFIG": "~/x.cfg"}
    assert partial_run("", environment) == f"[tags] in {tmp_path / 'x.cfg'}"


def test_to_skip_all_tags_leaves_all_out() -> None:
    assert partial("", {"ANSIBLE_SKIP_TAGS": "all"}) == "ANSIBLE_SKIP_TAGS"


@pytest.mark.parametrize(
    ("text", "leaves_out"),
    [
        ("[tags]\nskip = slow", True),
        ("[tags]\nrun = web", True),
        ("[tags]\nrun = all", False),
        ("[defaults]\nforks = 2", False),
        ("no section", False),
    ],
)
def test_tags_in_ansibles_configuration_leave_tasks_out(text: str, leaves_out: bool, tmp_path: Path) -> None:
    (tmp_path / ".ansible.cfg").write_text(text)
    expected = f"[tags] in {tmp_path / '.ansible.cfg'}" if leaves_out else ""
    assert partial_run("", {"HOME": str(tmp_path)}) == expected


def test_the_configuration_that_a_variable_names_is_read_in_place_of_the_homes(tmp_path: Path) -> None:
    (tmp_path / ".ansible.cfg").write_text("[tags]\nskip = slow")
    (tmp_path / "other.cfg").write_text("")
    assert partial_run("", {"HOME": str(tmp_path), "ANSIBLE_CONFIG": str(tmp_path / "other.cfg")}) == ""


def test_all_tags_leave_nothing_out() -> None:
    assert partial("", {"ANSIBLE_RUN_TAGS": "all"}) == ""


@pytest.mark.parametrize(
    ("given", "used"), [("'-v'", "-v"), ("-e 'a b'", "-e 'a b'"), ("'", "'"), ("''", ""), ("'a", "'a")]
)
def test_one_pair_of_quotes_around_ansible_args_is_removed(given: str, used: str) -> None:
    assert unquoted(given) == used
