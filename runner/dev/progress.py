"""Show a person that something long goes on: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol, TextIO

LINE_SECONDS = 15.0
MEBIBYTE = 2**20

# Told how many more bytes or packages are done; 0 says only that it still goes on.
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Unit:
    """What is counted: its name, and how many make one that is shown."""

    name: str
    size: int


BYTES = Unit("MiB", MEBIBYTE)
PACKAGES = Unit("packages", 1)


class Progress(Protocol):
    """Shows one thing at a time."""

    def __call__(self, label: str, total: int | None, unit: Unit = BYTES) -> AbstractContextManager[Advance]:
        """Show `label` while the context lasts; `total` in bytes or packages, None when it is not known."""
        ...


def progress_on_stderr() -> Progress:
    """The display that suits where standard error goes to; bars only with the extra `local`, which brings rich."""
    return bar if sys.stderr.isatty() and find_spec("rich") else lines_on(sys.stderr)


@contextmanager
def bar(label: str, total: int | None, unit: Unit = BYTES) -> Iterator[Advance]:
    """A bar, or a spinner where the total is not known."""
    from rich import progress as rich_progress  # noqa: PLC0415  (an image of an operator has no use for it)
    from rich.console import Console  # noqa: PLC0415

    columns: list[rich_progress.ProgressColumn] = [
        rich_progress.SpinnerColumn(),
        rich_progress.TextColumn("{task.description}"),
    ]
    if total is not None:
        amount = rich_progress.DownloadColumn() if unit is BYTES else rich_progress.MofNCompleteColumn()
        columns += [rich_progress.BarColumn(), amount]
    columns.append(rich_progress.TimeElapsedColumn())
    with rich_progress.Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task(label, total=total)
        yield lambda done: display.advance(task, done)


def lines_on(stream: TextIO, clock: Callable[[], float] = time.monotonic) -> Progress:
    """A line at the start, one every 15 s while it goes on, one at the end."""

    @contextmanager
    def lines(label: str, total: int | None, unit: Unit = BYTES) -> Iterator[Advance]:
        begin = last = clock()
        done = 0

        def advance(more: int) -> None:
            nonlocal done, last
            done += more
            if clock() - last >= LINE_SECONDS:
                last = clock()
                amount = f"{done / unit.size:.0f} of {total / unit.size:.0f} {unit.name}, " if total else ""
                stream.write(f"{label}: {amount}{last - begin:.0f} s\n")

        stream.write(f"{label} ...\n")
        yield advance
        stream.write(f"{label}: done in {clock() - begin:.0f} s\n")

    return lines
