"""From Ansible's output to events: each goes to the artifacts, into the outcome and to every sink, in order.

ansible-runner's own parser and event files are used, fed from a pipe instead of a terminal.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import structlog

from runner.execute import outcome
from runner.execute.artifacts import StdoutFile
from runner.execute.run import Event, Run, Sink

_CHUNK = 32 * 1024
_LINES = 64
_log = structlog.get_logger(__name__)


class AnsibleRunner(Protocol):
    """What is used of `ansible_runner.runner.Runner`."""

    config: Any
    event_handler: Callable[[Event], bool]

    def event_callback(self, event_data: dict[str, Any]) -> None: ...
    def status_callback(self, status: str) -> None: ...


class Stream:
    """The events of one run. `runner` is ansible-runner's, prepared; `state` is what they say so far."""

    def __init__(self, run: Run, runner: AnsibleRunner, sinks: Sequence[Sink]) -> None:
        from ansible_runner.utils import OutputEventFilter  # noqa: PLC0415  (imported with the first run)

        self.state = outcome.State()
        self._run = run
        self._sinks = sinks
        self._runner = runner
        self._told: set[Sink] = set()
        runner.event_handler = self._on_event
        self._filter = OutputEventFilter(
            StdoutFile(Path(runner.config.artifact_dir)), self._on_output, suppress_ansible_output=True
        )

    async def read(self, output: asyncio.StreamReader) -> None:
        """Read to the end of the output, in pieces small enough that the event loop goes on meanwhile."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := await output.read(_CHUNK):
            for piece in pieces(decoder.decode(chunk)):
                self._filter.write(piece)
                await asyncio.sleep(0)
        self._filter.write(decoder.decode(b"", final=True))

    def close(self) -> None:
        """Give out what came last; nothing comes after."""
        self._filter.close()

    def _on_output(self, event: dict[str, Any]) -> None:
        try:
            self._runner.event_callback(event)
        except Exception:  # noqa: BLE001  (an event that cannot be read or stored is one event less)
            _log.warning("lost an event of a run", run=self._run.ident, object=str(self._run.key), exc_info=True)

    def _on_event(self, event: Event) -> bool:
        self.state = outcome.fold(self.state, event)
        for sink in self._sinks:
            try:
                sink(self._run, event)
            except Exception:  # noqa: BLE001  (a sink is somebody else's; the run goes on)
                self._tell(sink)
        return True

    def _tell(self, sink: Sink) -> None:
        """Log the exception of a sink, once a run."""
        if sink not in self._told:
            self._told.add(sink)
            _log.exception("an event sink failed", sink=repr(sink), object=str(self._run.key))


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
