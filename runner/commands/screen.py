"""The live table of `dev run` on a terminal: the custom resources and their runs, and below them what is wrong.

Drawn by rich on the terminal's alternate screen, which a terminal gives back as it was, and can resize.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from runner.control.board import Board, Row, State
from runner.logs import Record, sentence
from runner.stopping import ended

NOTICES = 4
"""Of the log's last warnings and errors, so many are shown."""
_TICK, _LEAST = 0.5, 0.1
"""Seconds between two drawings while a run or a wait goes on, and at least."""
_STYLES = {
    State.RUNNING: "cyan",
    State.FAILING: "red",
    State.INTERRUPTED: "yellow",
    State.WAITING: "dim",
    State.PAUSED: "yellow",
    State.CHECKED: "cyan",
    State.SUCCESSFUL: "green",
}
_HEADINGS = {
    "kind": "KIND",
    "name": "NAME",
    "state": "STATE",
    "time": "TIME",
    "why": "WHY",
    "now": "TASK OR RESULT",
}
_FROM_WIDTH = {"kind": 60, "name": 0, "state": 0, "time": 40, "why": 100, "now": 70}
"""So many columns a terminal has to have for a column to be shown."""
_MOST = {"kind": 0.15, "name": 0.4, "why": 0.25}
"""The share of a line that a column may take."""
_TOLD_ELSEWHERE = ("runner.runs", "runner.commands.reloading")
"""Whose warnings and errors the table shows in its own way."""
_GIVE_BACK = b"\x1b[?1049l\x1b[?25h"


class Notices:
    """The last warnings and errors of the log, each a line."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=NOTICES)

    def __call__(self, record: Record) -> None:
        """Take note of a record if it is worth it."""
        level = record.get("level")
        waits = record.get("event") == "Stopping" and record.get("waiting_for")
        told = record.get("logger") in _TOLD_ELSEWHERE
        if waits or (level in ("warning", "error", "critical") and not told):
            self.lines.append(sentence(record).splitlines()[0])


class Screen:
    """Draws a board while it is open. `head` are the lines above the table, `empty` stands in for rows."""

    def __init__(
        self, board: Board, notices: Notices, head: Sequence[str], empty: str, environment: Mapping[str, str]
    ) -> None:
        self._board = board
        self._notices = notices
        self._head = head
        self._empty = empty
        # Not COLUMNS and LINES: they are as old as the process that set them, and know no resizing.
        self._environment = {
            name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")
        }
        self._changed = asyncio.Event()
        self._output: TextIO = sys.stdout  # as it is before everything is logged

    def changed(self) -> None:
        """There is something new to draw."""
        self._changed.set()

    def give_back(self) -> None:
        """Give the terminal back at once, whatever else goes on."""
        os.write(self._output.fileno(), _GIVE_BACK)  # past the stream: a signal may find it half-way in a drawing

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Draw while this lasts; then the terminal is as it was, and the table is printed once more."""

        console = Console(file=self._output, _environ=self._environment)
        live = Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        loop = asyncio.get_running_loop()
        with suppress(ValueError):  # a test's loop is not the main thread's
            loop.add_signal_handler(signal.SIGWINCH, self._changed.set)
        with live:
            drawing = asyncio.create_task(self._keep_drawing(live, console), name="screen")
            try:
                yield
            finally:
                await ended(drawing)
                loop.remove_signal_handler(signal.SIGWINCH)
        console.print(self.drawing(console.width, 10_000))

    async def _keep_drawing(self, live: Live, console: Console) -> None:
        while True:
            self._changed.clear()
            live.update(self.drawing(console.width, console.height), refresh=True)
            await asyncio.sleep(_LEAST)
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK):
                    await self._changed.wait()

    def drawing(self, width: int, height: int) -> RenderableType:
        """Everything, for a terminal of that size: rows leave half of it to what is wrong, if there is so much."""

        now = time.monotonic()
        wrong = list(self._wrong())
        room = max(3, height - len(self._head) - 4 - min(2 * len(wrong), height // 2))
        rows = self._board.rows(room)
        parts: list[RenderableType] = [*map(_line, self._head), table(rows, width, now)]
        if not rows:
            parts.append(_line(self._empty))
        parts.append(_line(summary(self._board, len(rows))))
        return Group(*parts, *wrong)

    def _wrong(self) -> Iterator[Text]:

        for problems in self._board.files.values():
            for problem in problems:
                yield Text(problem, style="red")
        for what, names in failures(self._board.rows()):
            yield Text.assemble((f"{names}: ", "bold red"), what)
        for line in self._notices.lines:
            yield Text(line, style="yellow", no_wrap=True, overflow="ellipsis")


def table(rows: Sequence[Row], width: int, now: float) -> Table:
    """A line each; what a narrow terminal has no room for is left out."""

    shown = [name for name, least in _FROM_WIDTH.items() if width >= least]
    drawn = Table(box=None, expand=True, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for name in shown:
        drawn.add_column(
            _HEADINGS[name],
            no_wrap=True,
            overflow="ellipsis",
            ratio=1 if name == "now" else None,  # what the others leave
            max_width=max(1, int(width * _MOST[name])) if name in _MOST else None,
            justify="right" if name == "time" else "left",
        )
    for row in rows:
        cells = cells_of(row, now)
        drawn.add_row(*(Text(cells[name], style=_STYLES[row.state] if name == "state" else "") for name in shown))
    return drawn


def cells_of(row: Row, now: float) -> dict[str, str]:
    """What the table says of a custom resource, by column."""
    key = row.key
    return {
        "kind": key.gvk.kind,
        "name": f"{key.namespace}/{key.name}" if key.namespace else key.name,
        "state": row.state,
        "time": row.seconds(now),
        "why": row.why,
        "now": row.doing(now),
    }


def failures(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Each failure, and whose it is: of several that fail alike, the first and how many more."""
    alike: dict[str, list[Row]] = {}
    for row in rows:
        if row.failure:
            alike.setdefault(row.failure, []).append(row)
    return [
        (what, str(same[0].key) + (f" and {len(same) - 1} more" if len(same) > 1 else ""))
        for what, same in alike.items()
    ]


def summary(board: Board, shown: int) -> str:
    """How many custom resources are in which state, if not all are shown."""
    counts = board.counts()
    total = sum(counts.values())
    if total <= shown:
        return ""
    return f"{shown} of {total} shown: " + ", ".join(f"{number} {state}" for state, number in counts.items())


def _line(text: str) -> Text:

    return Text(text, no_wrap=True, overflow="ellipsis", style="dim")
