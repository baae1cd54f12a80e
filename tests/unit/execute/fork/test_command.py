"""Which command lines a preloaded interpreter can stand for."""

from __future__ import annotations

import shlex
import sys

import pytest

from runner.execute.fork.inside.shell import as_told_by_shell, parse, shell_sets

PYTHON = sys.executable


def line(inner: str) -> str:
    return f"/bin/sh -c {shlex.quote(inner + ' && sleep 0')}"


def test_a_plain_command_line_keeps_the_environment() -> None:
    found = parse(line(PYTHON), {"HOME": "/root"})
    assert found is not None
    assert found["HOME"] == "/root"


def test_assignments_of_a_command_line_go_above_the_environment() -> None:
    found = parse(line(f"A=1 B='two words' {PYTHON}"), {"A": "0", "C": "3"})
    assert found is not None
    assert (found["A"], found["B"], found["C"]) == ("1", "two words", "3")


def test_quoted_words_of_a_command_line_mean_what_they_say() -> None:
    found = parse(line(f"A='$HOME; `id`' {PYTHON}"), {})
    assert found is not None
    assert found["A"] == "$HOME; `id`"


@pytest.mark.parametrize(
    "inner",
    [
        f"A=$HOME {PYTHON}",
        f"A=`id` {PYTHON}",
        f"{PYTHON} -u",
        f"{PYTHON}; id",
        f"cd /tmp && {PYTHON}",
        f"sudo {PYTHON}",
        "/bin/true",
        "",
        "'",
        f"PYTHONPATH=/x {PYTHON}",
        f"LD_PRELOAD=/x.so {PYTHON}",
        f"LC_ALL=C {PYTHON}",
        f"LANG=C {PYTHON}",
    ],
)
def test_a_command_line_that_needs_the_shell_is_left_to_it(inner: str) -> None:
    assert parse(line(inner), {}) is None


@pytest.mark.parametrize(
    "command", [f"/bin/bash -c '{PYTHON} && sleep 0'", f"/bin/sh -c '{PYTHON}'", f"{PYTHON}", "", "'"]
)
def test_a_command_line_of_another_shell_or_form_is_left_alone(command: str) -> None:
    assert parse(command, {}) is None


def test_the_shell_of_this_machine_was_asked_what_it_sets() -> None:
    assert shell_sets() <= {"PWD", "SHLVL", "_"}


@pytest.mark.parametrize(
    ("code", "told"), [(0, (0, b"")), (3, (3, b"")), (-9, (137, b"Killed\n")), (-13, (141, b""))]
)
def test_a_signal_is_told_as_a_shell_does(code: int, told: tuple[int, bytes]) -> None:
    assert as_told_by_shell(code) == told
