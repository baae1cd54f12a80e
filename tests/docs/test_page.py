"""How a page is read: what is a file, what is typed, what is shown."""

from __future__ import annotations

import re

from tests.docs.page import Command, File, Untested, commands, pattern, read_page


def test_a_block_below_a_path_and_a_colon_is_a_file() -> None:
    page = read_page("The role, `roles/a/tasks/main.yml`:\n\n```yaml\n- debug:\n```\n")
    assert page.steps == (File(3, "roles/a/tasks/main.yml", "- debug:\n"),)


def test_a_block_below_other_prose_is_only_looked_at() -> None:
    assert read_page("It holds `a.yml`, like this:\n\n```yaml\n- debug:\n```\n").steps == ()


def test_what_is_typed_has_what_is_shown_below_it() -> None:
    assert list(commands("$ ls\na\nb\n$ cd a\n", 1)) == [Command(1, "ls", ("a", "b")), Command(4, "cd a", ())]


def test_a_command_goes_on_in_the_next_line() -> None:
    assert list(commands("$ ls \\\n>   a\nb\n", 1)) == [Command(1, "ls \\\n  a", ("b",))]


def test_a_block_may_only_show_what_appears() -> None:
    assert list(commands("Ready\n^C\n", 1)) == [Command(1, "", ("Ready",)), Command(2, "^C", ())]


def test_a_block_is_typed_in_the_terminal_that_the_prose_names() -> None:
    (step,) = read_page("*In a second terminal:*\n\n```console\n$ ls\n```\n").steps
    assert isinstance(step, Command)
    assert step.terminal == "second"


def test_a_block_that_needs_something_is_not_run() -> None:
    assert read_page("*Needs docker.*\n\n```console\n$ docker ps\n```\n").steps == (Untested(3, "docker"),)


def test_shell_lines_that_nothing_would_run_are_problems() -> None:
    assert len(read_page("Do:\n\n    kubectl get pods\n\nand\n\n```sh\nls\n```\n").problems) == 2


def test_what_is_no_shell_line_is_none() -> None:
    assert read_page("The log:\n\n    12:03 info Ready\n").problems == ()


def test_a_page_begins_where_it_says() -> None:
    assert read_page("*Begins in a clone of this repository.*").begins == "clone"
    assert read_page("*Begins with the project of the [tutorial](../tutorial.md).*").begins == "tutorial"
    assert read_page("Hello.").begins == "empty"


def test_dots_stand_for_what_varies() -> None:
    shown = pattern(("ready in ... s", "...", "NAME    AGE"))
    assert re.fullmatch(shown, "ready in 7.2 s\nand\nmore\nNAME   AGE\n")
    assert not re.fullmatch(shown, "ready in 7.2\nNAME AGE\n")
