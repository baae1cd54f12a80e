"""What of Ansible's output is an event, and what is only text that looks like one.

ansible-runner's callback writes a mark before and after the output of each event: `ESC[K`, base64, `ESC[nD`,
`ESC[K`. What a task prints passes the same pipe, strings of a custom resource among it (loop labels, names of
tasks), so anybody can write a mark. Only one of exactly the callback's form, whose uuid is that of an event that
the callback has told of beside the output, begins an event, and nothing but that uuid is taken from it. All else
is text, in which control characters are made visible.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

LONGEST_TEXT = 8 * 1024 * 1024
"""Characters of output that one event keeps at most."""
MOST_LINES = 1000
"""So many lines outside of events are an event each, as for ansible-runner; later ones come in larger pieces."""

_PIECE = 64 * 1024
_MARK = re.compile(r"\x1b\[K([A-Za-z0-9+/]{2,76}={0,2})\x1b\[(\d{1,2})D\x1b\[K")
_UNFINISHED = re.compile(
    r"\x1b(?:\[(?:K(?:[A-Za-z0-9+/]{0,76}={0,2}(?:\x1b(?:\[(?:\d{0,2}(?:D(?:\x1b\[?)?)?)?)?)?)?)?)?\Z"
)
"""What may still become a mark, at the end of the text."""
_LONGEST_MARK = 96
_END = base64.b64encode(b"{}").decode()
_BEGIN = re.compile(rb'\{"uuid": "([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:_[0-9]{1,5})?)"\}')
_CONTROL = re.compile(r"\x1b\[[0-9;]{0,20}m|\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_HARMLESS = ("m", "\n")

EventDict = dict[str, Any]
Part = Callable[[str], EventDict | None]
"""What the callback has told of the event of this uuid, its uuid included; None if it has told nothing."""


class OutputReader:
    """Cuts output into events, numbered and with their lines counted as ansible-runner does."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._event: EventDict | None = None
        self._unread = ""
        self._text: list[str] = []
        self._length = 0
        self._left_out = 0
        self._counter = 0
        self._lines = 0
        self._outside = 0

    def feed(self, text: str) -> Iterator[EventDict]:
        """The events that this piece of output completes."""
        text = self._unread + text
        begin = looked_at = 0
        for mark in _MARK.finditer(text):
            looked_at = mark.end()
            known, following = self._following(mark)
            if known:
                yield from self._take(text[begin : mark.start()])
                yield from self._end()
                self._event = following
                begin = looked_at
        unfinished = _UNFINISHED.search(text, max(looked_at, len(text) - _LONGEST_MARK))
        end = unfinished.start() if unfinished else len(text)
        self._unread = text[end:]
        yield from self._take(text[begin:end])

    def close(self) -> Iterator[EventDict]:
        """The events of what came last; nothing comes after."""
        text, self._unread = self._unread, ""
        yield from self._take(text)
        yield from self._end()

    def _following(self, mark: re.Match[str]) -> tuple[bool, EventDict | None]:
        """Whether it is the callback's mark, and the event that it begins, if it does not end one."""
        payload, length = mark[1], int(mark[2])
        if length != len(payload):
            return False, None
        if payload == _END:
            return True, None
        try:
            begin = _BEGIN.fullmatch(base64.b64decode(payload, validate=True))
        except ValueError:
            return False, None
        part = self._part(begin[1].decode()) if begin else None
        return part is not None, part

    def _take(self, text: str) -> Iterator[EventDict]:
        self._keep(text)
        if self._event is None and ("\n" in text or self._length > _PIECE):
            yield from self._whole_lines()

    def _keep(self, text: str) -> None:
        room = LONGEST_TEXT - self._length
        self._left_out += max(0, len(text) - room)
        if text := text[:room]:
            self._text.append(text)
            self._length += len(text)

    def _whole_lines(self) -> Iterator[EventDict]:
        whole, line_break, rest = "".join(self._text).rpartition("\n")
        if len(rest) > _PIECE:
            whole, line_break, rest = whole + line_break + rest, "", ""
        self._text, self._length = [rest] if rest else [], len(rest)
        yield from self._outside_of_events(whole + line_break)

    def _end(self) -> Iterator[EventDict]:
        text, self._text, self._length = "".join(self._text), [], 0
        if self._event is None:
            yield from self._outside_of_events(text)
            return
        if self._left_out:
            text = f"{text}\n({self._left_out} more characters of this event's output were left out)\n"
            self._left_out = 0
        event, self._event = self._event, None
        yield self._numbered(event, text)

    def _outside_of_events(self, text: str) -> Iterator[EventDict]:
        begin = 0
        while begin < len(text):
            self._outside += 1
            line = text.find("\n", begin) + 1 or len(text)
            end = line if self._outside <= MOST_LINES else begin + _PIECE
            yield self._numbered({"event": "verbose", "uuid": str(uuid.uuid4())}, text[begin:end])
            begin = end

    def _numbered(self, event: EventDict, text: str) -> EventDict:
        self._counter += 1
        begin, self._lines = self._lines, self._lines + text.count("\n")
        ours = {
            "uuid": event["uuid"],
            "counter": self._counter,
            "stdout": visible(text.rstrip("\n\r")),
            "start_line": begin,
            "end_line": self._lines,
        }
        return {**ours, **event, **ours}  # in the order of ansible-runner's files


def visible(text: str) -> str:
    """`text` with control characters written out (`\\x1b`); line breaks, tabs and colours stay."""
    return _CONTROL.sub(lambda found: found[0] if found[0].endswith(_HARMLESS) else _written_out(found[0]), text)


def _written_out(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def completion(created: str) -> str:
    """An event's time as `ansibleResult` shows it, without zeros at the end: `2026-01-31T10:20:30.5+00:00`."""
    whole, point, fraction = created.removesuffix("+00:00").partition(".")
    fraction = fraction.rstrip("0")
    return whole + (point + fraction if fraction else "") + "+00:00"
