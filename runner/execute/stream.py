"""From Ansible's output to events: each goes to the artifacts, into the outcome and to every sink, in order.

Nothing that comes ends the reading: a run whose output nobody reads would wait for ever.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from runner.execute.artifacts import StdoutFile
from runner.execute.censor import censored_stdout, is_censored
from runner.execute.eventfiles import EventFiles
from runner.execute.outcome import State, fold
from runner.execute.output import EventDict, OutputReader
from runner.execute.parts import Parts
from runner.execute.run import Run, Sink

_CHUNK = 32 * 1024
_EVENTS = 32
"""After so many events everybody else gets a turn."""
_log = structlog.get_logger(__name__)


class Stream:
    """The events of one run, whose files are in `artifacts`; `state` is what they say so far."""

    def __init__(self, run: Run, artifacts: Path, sinks: Sequence[Sink]) -> None:
        """Raises OSError when the file for the output cannot be made."""
        self.state = State()
        self._run = run
        self._sinks = sinks
        self._told: set[str] = set()
        self._known: set[str] = set()
        self._censored = False
        self._parts: Parts | None = None
        self._files = EventFiles(artifacts)
        self._output = OutputReader(self._part)
        self._stdout = StdoutFile(artifacts)

    async def read(self, output: asyncio.StreamReader, parts: Parts | None = None) -> None:
        """Read to the end of the output, in pieces small enough that the event loop goes on meanwhile.

        `parts` are Ansible's of the events where they do not come as files.
        """
        self._parts = parts
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := await output.read(_CHUNK):
            for count, event in enumerate(self._output.feed(decoder.decode(chunk)), 1):
                self._on_event(event)
                if count % _EVENTS == 0:
                    await asyncio.sleep(0)
            self._stdout.flush()
        self._take(self._output.feed(decoder.decode(b"", final=True)))

    def close(self) -> None:
        """Give out what came last; nothing comes after."""
        self._take(self._output.close())
        self._stdout.close()

    def _take(self, events: Iterable[EventDict]) -> None:
        for event in events:
            self._on_event(event)

    def _part(self, uuid: str) -> EventDict | None:
        """What Ansible's callback has told of this event; None for one that nobody has."""
        part: EventDict | None = None
        try:
            part = self._parts.take(uuid) if self._parts else None
            part = part or self._files.part(uuid)
        except (OSError, ValueError, RecursionError):
            self._warn("cannot read what Ansible told of an event")
        if part is None and uuid in self._known:  # a handler's, which is told of anew each time that it runs
            part = {"uuid": uuid, "event": "verbose", "created": _now()}
        if not _is_part(part, uuid):
            return None
        self._known.add(uuid)
        return part

    def _on_event(self, event: EventDict) -> None:
        outside = "created" not in event  # of any event that Ansible told of
        event.setdefault("created", _now())
        event["runner_ident"] = self._run.ident
        self._censor(event, outside=outside)
        if event["stdout"] or outside:
            self._stdout.write(event["stdout"] + "\n")
        self._guarded("an event of a run could not be understood", partial(self._fold, event))
        for sink in self._sinks:
            self._guarded(f"the event sink {sink!r} failed", partial(sink, self._run, event))
        self._guarded("cannot store an event of a run", partial(self._files.store, event))

    def _fold(self, event: EventDict) -> None:
        self.state = fold(self.state, event)

    def _censor(self, event: EventDict, *, outside: bool) -> None:
        """Hide what `no_log` hides: also what follows outside of events, for it may be part of it.

        The callback does not say which event a mark ends, so a string that holds such a mark ends it sooner.
        """
        if outside:
            event["stdout"] = "" if self._censored else event["stdout"]
        else:
            self._censored = is_censored(event)
            event["stdout"] = censored_stdout(event)

    def _guarded(self, what: str, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception:  # noqa: BLE001  (whatever a run says, it goes on)
            self._warn(what)

    def _warn(self, what: str) -> None:
        """Log the current exception, each kind once a run."""
        if what not in self._told:
            self._told.add(what)
            _log.warning(what, object=str(self._run.key), run=self._run.ident, exc_info=True)


def _is_part(part: Any, uuid: str) -> bool:  # noqa: ANN401  (any JSON value)
    """Whether this has the shape of what ansible-runner's callback tells."""
    return (
        isinstance(part, Mapping)
        and part.get("uuid") == uuid
        and isinstance(part.get("event"), str)
        and isinstance(part.get("event_data", {}), Mapping)
        and isinstance(part.get("created"), str)
    )


def _now() -> str:
    return datetime.now(UTC).isoformat()
