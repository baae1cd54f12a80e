"""From Ansible's output to events: each goes to the artifacts, into the outcome and to every sink, in order.

What Ansible's callback knows of an event comes through a pipe ahead of the output (a warm run), or as a file (a
cold one). Nothing that comes ends the reading: a run whose output nobody reads would wait for ever.

What `no_log` hides stays hidden: ansible-core 2.19 and later still print the error of such a task in full. Its
result is censored when it reaches an event, but above it the text shows `[ERROR]: Task failed: <message>`, with
the values that the message was made of.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from runner.execute.artifacts import EventFiles, StdoutFile
from runner.execute.budget import Room
from runner.execute.fork.inside.wire import HEAD
from runner.execute.outcome import State, fold
from runner.execute.output import EventDict, OutputReader
from runner.execute.run import Event, Run, Sink

_CHUNK = 32 * 1024
_EVENTS = 32
"""After so many events everybody else gets a turn."""
_log = structlog.get_logger(__name__)


_PIPE_CHUNK = 64 * 1024
_RESULT = re.compile(
    r"^(?:\x1b\[[0-9;]*m)?(?:ok|changed|skipping|failed|fatal|FAILED - RETRYING): \[", re.MULTILINE
)


class Stream:
    """The events of one run, whose files are in `artifacts`; `state` is what they say so far."""

    def __init__(self, run: Run, artifacts: Path, sinks: Sequence[Sink], room: Room | None = None) -> None:
        """Without a `room` the files have no limit. Raises OSError when the file for the output cannot be made."""
        self.state = State()
        self._run = run
        self._sinks = sinks
        self._told: set[str] = set()
        self._known: set[str] = set()
        self._censored = False
        self._parts: Parts | None = None
        room = room or Room()
        self._files = EventFiles(artifacts, room.take)
        self._output = OutputReader(self._part)
        self._stdout = StdoutFile(artifacts, room.take)

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
            self._guarded("an event sink failed", partial(sink, self._run, event), sink)
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

    def _guarded(self, what: str, action: Callable[[], object], sink: Sink | None = None) -> None:
        try:
            action()
        except Exception:  # noqa: BLE001  (whatever a run says, it goes on)
            # Its repr would hold all that a bound method's object knows, such as the custom resource.
            self._warn(what if sink is None else f"{what}: {getattr(sink, '__qualname__', type(sink).__name__)}")

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


class Parts:
    """Takes what comes, so that a run never waits for us, and gives out each part once."""

    def __init__(self, descriptor: int) -> None:
        """`descriptor` is ours from now on, and closed at the end of what can be read from it, or by `close`."""
        os.set_blocking(descriptor, False)
        self._descriptor: int | None = descriptor
        self._unread = bytearray()
        self._waiting: dict[str, deque[dict[str, Any]]] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self._read)

    def take(self, uuid: str) -> dict[str, Any] | None:
        """What came of this event: sent before its output, so it can be read by now.

        An event of the same uuid may come again (a handler's): each is given out in its turn.
        """
        if uuid not in self._waiting:
            self._read()
        waiting = self._waiting.get(uuid)
        if not waiting:
            return None
        if len(waiting) == 1:
            del self._waiting[uuid]
        return waiting.popleft()

    def close(self) -> None:
        """Read no more."""
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _read(self) -> None:
        with suppress(BlockingIOError):
            while self._descriptor is not None:
                chunk = os.read(self._descriptor, _PIPE_CHUNK)
                self._unread += chunk
                if not chunk:
                    self.close()
        self._split()

    def _split(self) -> None:
        begin = 0
        while len(self._unread) >= begin + HEAD.size:
            end = begin + HEAD.size + HEAD.unpack_from(self._unread, begin)[0]
            if len(self._unread) < end:
                break
            self._add(self._unread[begin + HEAD.size : end])
            begin = end
        del self._unread[:begin]

    def _add(self, data: bytes | bytearray) -> None:
        try:
            part = json.loads(data)
            self._waiting.setdefault(part["uuid"], deque()).append(part)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            _log.warning("cannot read what Ansible told of an event", error=repr(error))


def censored_stdout(event: Event) -> str:
    """The event's text; of a censored result only the line that shows the result, and what comes after it."""
    text = str(event.get("stdout") or "")
    if not is_censored(event):
        return text
    found = list(_RESULT.finditer(text))
    return text[found[-1].start() :] if found else ""


def is_censored(event: Event) -> bool:
    """Whether `no_log` hides the result that this event tells of."""
    result = (event.get("event_data") or {}).get("res")
    return isinstance(result, Mapping) and "censored" in result
