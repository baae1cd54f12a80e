"""A terminal as a reader has it: bash on a pseudo-terminal, typed into line by line."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

import pexpect

from tests.docs.page import INTERRUPT, Command, pattern
from tests.fixtures.commands import kill_session

# A prompt that can be told from everything else, which a virtual environment leaves as it is, and no colours.
_PLAIN = {"PS1": "@prompt $?@\n", "PS2": "", "VIRTUAL_ENV_DISABLE_PROMPT": "1", "TERM": "dumb", "NO_COLOR": "1"}
_PROMPT = re.compile(r"@prompt (\d+)@\n$")
_WATCH_ENDED = re.compile(
    r"^I\d{4} \S+ +\d+ reflector\.go:\d+\] .*watch ended with error.*: context canceled.*\n", re.MULTILINE
)
"""kubectl's word, now and then, on a watch that it has ended itself."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")

INTERRUPTS = 2
"""An operator waits for its runs after the first one, and ends them after the second."""
AFTER_INTERRUPT = 10.0
"""Seconds until the next one."""


class Terminal:
    """Runs commands of a page; AssertionError names the line where one does not do what the page says.

    `patience` is the seconds that a command may take until it is done, or has shown what the page shows.
    """

    def __init__(self, directory: Path, environment: Mapping[str, str], patience: float) -> None:
        self._patience = patience
        self._shell = pexpect.spawn(
            "/bin/bash",
            ["--noprofile", "--norc", "--noediting", "-i"],
            cwd=str(directory),
            env={**environment, **_PLAIN},
            echo=False,
            encoding="utf-8",
            codec_errors="replace",
            dimensions=(50, 400),
        )
        self._output = ""
        self._arrived = SimpleQueue[str]()
        self._busy = False
        threading.Thread(target=self._pump, daemon=True).start()
        self._until_prompt(Command(0, "", ()))
        self._output = ""

    @property
    def directory(self) -> Path:
        """Where the shell is."""
        return Path(f"/proc/{self._shell.pid}/cwd").readlink()

    def close(self) -> None:
        """End what runs in the shell, with Ctrl-C as often as that takes, then the shell; kill what is left."""
        session = self._shell.pid
        try:
            for _ in range(INTERRUPTS):
                if self._busy:
                    self._shell.sendintr()
                    self._await_prompt(time.monotonic() + AFTER_INTERRUPT)
        finally:
            self._shell.close(force=True)
            kill_session(session)

    def run(self, command: Command, *, may_fail: bool, may_go_on: bool) -> None:
        """Type `command`, and hold its output against what is shown.

        With `may_go_on`, it need not end if it has shown that. `may_fail` leaves the exit code to the reader.
        """
        if command.text == INTERRUPT:
            self._shell.sendintr()
        elif command.text:
            assert not self._busy, f"line {command.line}: this terminal is busy; write `^C`, or take another one"
            self._output = ""
            self._shell.sendline(command.text)
            self._busy = True
        if not command.text or (may_go_on and command.shown):
            self._until_shown(command)
            return
        code = self._until_prompt(command)
        assert code == 0 or may_fail or command.text == INTERRUPT, (
            f"line {command.line}: `{command.text}`: exit code {code}\n{self._output}"
        )
        self._compare(command)

    def _compare(self, command: Command) -> None:
        if command.shown:
            output = _WATCH_ENDED.sub("", self._output)
            found = re.match(pattern(command.shown) + r"\s*$", output)
            assert found, f"line {command.line}: the page shows\n{_text(command)}\nand this came:\n{self._output}"
        self._output = ""

    def _until_shown(self, command: Command) -> None:
        wanted = re.compile("(?:.*\n)*?" + pattern(command.shown))
        end = time.monotonic() + self._patience
        while not (found := wanted.match(self._output)):
            assert self._busy, (
                f"line {command.line}: the command ended without\n{_text(command)}\nand this came:\n{self._output}"
            )
            assert time.monotonic() < end, (
                f"line {command.line}: waited {self._patience:.0f} s for\n{_text(command)}\n"
                f"and this came:\n{self._output}"
            )
            self._read()
            self._notice_prompt()
        self._output = self._output[found.end() :]

    def _until_prompt(self, command: Command) -> int:
        code = self._await_prompt(time.monotonic() + self._patience)
        assert code is not None, (
            f"line {command.line}: `{command.text}` did not end in {self._patience:.0f} s:\n{self._output}"
        )
        return code

    def _await_prompt(self, end: float) -> int | None:
        """The exit code of the last command; None if it has not ended by then."""
        while (code := self._notice_prompt()) is None and time.monotonic() < end:
            self._read()
        return code

    def _notice_prompt(self) -> int | None:
        found = _PROMPT.search(self._output)
        if found is None:
            return None
        output = self._output[: found.start()]
        self._output = output if output.endswith("\n") or not output else f"{output}\n"
        self._busy = False
        return int(found[1])

    def _read(self) -> None:
        """Take what has arrived, or wait for it a little."""
        with suppress(Empty):
            self._output = _ESCAPES.sub("", self._output + self._arrived.get(timeout=0.1))

    def _pump(self) -> None:
        """Take all that comes, also while nobody looks: a terminal that is not read stops what runs in it."""
        try:
            while True:
                self._arrived.put(self._shell.read_nonblocking(65536, timeout=None))
        except (pexpect.EOF, OSError, ValueError):  # closed
            return


def _text(command: Command) -> str:
    return "\n".join(command.shown)
