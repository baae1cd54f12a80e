"""The terminal that pages are typed into: what it waits for, and what it leaves."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.page import Command
from tests.docs.terminal import Terminal
from tests.fixtures.commands import is_running

PATIENCE = 60.0


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, os.environ, PATIENCE)
    yield terminal
    terminal.close()


def test_command_that_ends_without_the_output_that_is_shown_fails_at_once(terminal: Terminal) -> None:
    began = time.monotonic()
    with pytest.raises(AssertionError, match="the command ended without\nReady"):
        terminal.run(Command(1, "echo refused", ("Ready",)), may_fail=False, may_go_on=True)
    assert time.monotonic() - began < PATIENCE / 2


def test_output_that_comes_late_is_waited_for(terminal: Terminal) -> None:
    terminal.run(Command(1, "sleep 0.5; echo Ready; sleep 300", ("Ready",)), may_fail=False, may_go_on=True)


def test_process_that_ignores_ctrl_c_is_killed_when_its_terminal_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.docs.terminal.AFTER_INTERRUPT", 0.1)
    terminal = Terminal(tmp_path, os.environ, PATIENCE)
    stubborn = "(trap '' INT HUP; echo $BASHPID >pid; echo Ready; while :; do sleep 1; done)"
    terminal.run(Command(1, stubborn, ("Ready",)), may_fail=False, may_go_on=True)
    terminal.close()
    assert not is_running(int((tmp_path / "pid").read_text()))
