"""A program on a terminal of its own, which may draw on it: for the recording of `dev run`, and for tests."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Self

from bench.observer import wait_for

_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_HOME = "\x1b[H"
"""With which each drawing begins."""


class Screen:
    """Starts `command`, of which the terminal is its output, without colours; it is killed at the end."""

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        size: tuple[int, int] = (40, 160),
    ) -> None:
        """`size` is lines and columns."""
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, size)
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            env={**os.environ, "NO_COLOR": "1", "TERM": "xterm", **environment},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._text = ""
        self._ours = ours
        self._reading = Thread(target=self._read, daemon=True)
        self._reading.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._reading.join(10)
        os.close(self._ours)

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._ours, 65536)
            except OSError:  # nobody has the other end any more
                return
            self._text += chunk.decode(errors="replace")

    def resize(self, lines: int, columns: int) -> None:
        """As a window does."""
        termios.tcsetwinsize(self._ours, (lines, columns))
        self.process.send_signal(signal.SIGWINCH)

    def ctrl_c(self) -> None:
        """As a terminal does: to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def ended(self, seconds: float = 60.0) -> int:
        """Its exit code, when all that it wrote is read."""
        code = self.process.wait(seconds)
        self._reading.join(10)
        return code

    def lines(self, part: str = "") -> list[str]:
        """All that were ever written, with this part."""
        return [line for line in self._text.splitlines() if part in line]

    def wait(self, part: str) -> None:
        """Wait for a line with this part."""
        wait_for(f"the terminal to show {part!r}", lambda: self.lines(part), seconds=60)

    def screen(self) -> list[str]:
        """What was drawn last, and written since."""
        return [line.rstrip() for line in _STYLE.sub("", self._text.split(_HOME)[-1]).split("\r\n")]

    def shows(self, part: str, seconds: float = 60.0) -> None:
        """Wait for a line of the screen with this part."""
        self.until(f"the screen to show {part!r}", lambda line: part in line, seconds)

    def until(self, what: str, wanted: Callable[[str], bool], seconds: float = 60.0) -> None:
        """Wait for a line of the screen that is `wanted`."""
        wait_for(what, lambda: any(map(wanted, self.screen())), seconds=seconds)

    def is_given_back(self) -> bool:
        """Whether the last that was said of the alternate screen and of the cursor is that all is as it was."""
        pairs = (("\x1b[?1049h", "\x1b[?1049l"), ("\x1b[?25l", "\x1b[?25h"))
        return all(self._text.rfind(changed) < self._text.rfind(back) for changed, back in pairs)
