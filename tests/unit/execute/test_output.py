"""Cutting output into events: as ansible-runner does for what its callback writes, and as text for all else."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from ansible_runner.utils import OutputEventFilter
from hypothesis import given
from hypothesis import strategies as st

from runner.execute.output import OutputReader, visible
from tests.fixtures.marks import mark

UUID_FORM = re.compile(r"[0-9a-f-]{36}(_[0-9]+)?")


class Told:
    """What a callback has told of."""

    def __init__(self, *uuids: str) -> None:
        self.uuids = set(uuids)

    def __call__(self, uuid: str) -> dict[str, Any] | None:
        return {"uuid": uuid, "event": "x"} if uuid in self.uuids else None


def read(text: str, *uuids: str, size: int | None = None) -> list[dict[str, Any]]:
    reader = OutputReader(Told(*uuids))
    size = size or len(text) or 1
    chunks = [text[begin : begin + size] for begin in range(0, len(text), size)]
    return [event for chunk in chunks for event in reader.feed(chunk)] + list(reader.close())


printed = st.text(alphabet="ab {}ü", min_size=1, max_size=20)
outputs = st.lists(st.lists(printed, min_size=1, max_size=3), max_size=5)


@given(outputs, st.integers(1, 60))
def test_what_the_callback_writes_is_read_as_ansible_runner_reads_it(said: list[list[str]], size: int) -> None:
    uuids = [str(UUID(int=number)) for number in range(len(said))]
    text = "".join(
        mark({"uuid": uuid}) + "\n".join(lines) + "\n" + mark({}) for uuid, lines in zip(uuids, said, strict=True)
    )
    theirs: list[dict[str, Any]] = []
    stock = OutputEventFilter(StringIO(), lambda event: theirs.append(dict(event)), suppress_ansible_output=True)
    stock.write(text)
    stock.close()

    ours = read(text, *uuids, size=size)
    keys = ("uuid", "counter", "stdout", "start_line", "end_line")
    assert [[event[key] for key in keys] for event in ours] == [
        [event[key] for key in keys] for event in theirs if "uuid" in event
    ]


@given(st.lists(st.text(alphabet="ab\n"), min_size=1), st.integers(1, 9))
def test_lines_outside_of_events_are_an_event_each(lines: list[str], size: int) -> None:
    text = "\n".join(lines)

    assert [event["stdout"] for event in read(text, size=size)] == text.split("\n")[
        : None if text[-1:] != "\n" else -1
    ][: None if text else 0]


pieces = st.one_of(
    st.text(max_size=5),
    st.sampled_from(["\x1b", "\x1b[K", "\x1b[4D", "e30=", "\n", "\r", mark({}), mark({"uuid": "../x"}), mark([])]),
    st.uuids().map(lambda uuid: mark({"uuid": str(uuid)})),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3), lambda inner: st.dictionaries(st.text(), inner)
    ).map(mark),
)


@given(st.lists(pieces).map("".join), st.integers(1, 50))
def test_whatever_comes_no_mark_of_a_stranger_begins_an_event(text: str, size: int) -> None:
    events = read(text, size=size)

    assert {event["event"] for event in events} <= {"verbose"}
    assert all(UUID_FORM.fullmatch(event["uuid"]) for event in events)
    assert [event["counter"] for event in events] == list(range(1, len(events) + 1))
    assert not any("\x1b" in re.sub(r"\x1b\[[0-9;]*m", "", event["stdout"]) for event in events)


@given(st.lists(pieces).map("".join), st.integers(1, 50))
def test_how_the_output_is_cut_into_chunks_changes_no_event(text: str, size: int) -> None:
    uuid = str(UUID(int=1))
    text = f"{mark({'uuid': uuid})}{text}"

    assert [event["stdout"] for event in read(text, uuid, size=size)] == [
        event["stdout"] for event in read(text, uuid)
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc\r\nd", "a\tb\nc\r\nd"),
        ("\x1b[0;32mok\x1b[0m", "\x1b[0;32mok\x1b[0m"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("over\rwritten\x08", "over\\x0dwritten\\x08"),
        ("\x9b2J\u2028", "\\x9b2J\\u2028"),
    ],
)
def test_control_characters_are_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert visible(text) == shown
