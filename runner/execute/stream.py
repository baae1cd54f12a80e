"""From Ansible's output to events: each goes to the artifacts, into the outcome and to every sink, in order.

ansible-runner's own parser is used, fed from a pipe instead of a terminal.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import structlog

from runner.execute import outcome
from runner.execute.artifacts import StdoutFile
from runner.execute.censor import censored_stdout
from runner.execute.eventfiles import EventFiles
from runner.execute.parts import Parts
from runner.execute.run import Run, Sink

_CHUNK = 32 * 1024
_LINES = 64
_BESIDE_MARKS = re.compile(r"(?<=\n)(?=\x1b\[K)|(?<=\x1b\[K)(?=\n)")
"""Where output outside of events may begin or end."""
_log = structlog.get_logger(__name__)


class Stream:
    """The events of one run, whose files are in `artifacts`; `state` is what they say so far."""

    def __init__(self, run: Run, artifacts: Path, sinks: Sequence[Sink]) -> None:
        from ansible_runner.utils import OutputEventFilter  # noqa: PLC0415  (imported with the first run)

        self.state = outcome.State()
        self._run = run
        self._sinks = sinks
        self._told: set[str] = set()
        self._parts: Parts | None = None
        self._files = EventFiles(artifacts, run.ident)
        self._filter = OutputEventFilter(StdoutFile(artifacts), self._on_output, suppress_ansible_output=True)

    async def read(self, output: asyncio.StreamReader, parts: Parts | None = None) -> None:
        """Read to the end of the output, in pieces small enough that the event loop goes on meanwhile.

        `parts` are Ansible's of the events where they do not come as files.
        """
        self._parts = parts
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := await output.read(_CHUNK):
            for place, piece in enumerate(pieces(decoder.decode(chunk))):
                if place:
                    await asyncio.sleep(0)
                self._write(piece)
        self._filter.write(decoder.decode(b"", final=True))

    def _write(self, text: str) -> None:
        for part in _BESIDE_MARKS.split(
            text
        ):  # of lines that come together with a mark, the parser keeps the last
            self._filter.write(part)

    def close(self) -> None:
        """Give out what came last; nothing comes after."""
        self._filter.close()

    def _on_output(self, event: dict[str, Any]) -> None:
        if "uuid" not in event:
            return  # the parser's own note that the output has ended
        try:
            self._files.complete(event, self._parts.take(event["uuid"]) if self._parts else None)
        except (OSError, ValueError):
            self._tell("an event of a run lacks its data")
        event["stdout"] = censored_stdout(event)  # in the very dict that the artifacts are written from
        self.state = outcome.fold(self.state, event)
        for sink in self._sinks:
            try:
                sink(self._run, event)
            except Exception:  # noqa: BLE001  (a sink is somebody else's; the run goes on)
                self._tell(f"the event sink {sink!r} failed")
        try:
            self._files.store(event)
        except OSError:
            self._tell("cannot store an event of a run")

    def _tell(self, what: str) -> None:
        """Log the current exception, each kind once a run."""
        if what not in self._told:
            self._told.add(what)
            _log.warning(what, object=str(self._run.key), run=self._run.ident, exc_info=True)


def pieces(text: str) -> Iterator[str]:
    """`text` in pieces of a bounded number of lines: each line outside of a task becomes an event of its own."""
    start = 0
    while start < len(text):
        end = start
        for _ in range(_LINES):
            end = text.find("\n", end) + 1
            if not end:
                end = len(text)
                break
        yield text[start:end]
        start = end
