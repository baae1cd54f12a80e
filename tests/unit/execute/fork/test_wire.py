"""Messages with descriptors, also where no more files can be opened."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.execute.fork.inside import wire
from tests.fixtures.descriptors import no_more_than, open_descriptors

Line = tuple[socket.socket, socket.socket]


@pytest.fixture
def line() -> Iterator[Line]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("length", [0, 1000, 1100, 1_000_000])
def test_a_message_arrives_whatever_its_length(line: Line, length: int) -> None:
    message = {"text": "x" * length}
    wire.send(line[0], message)
    assert wire.receive(line[1]) == (message, [])


def test_a_message_arrives_with_the_descriptors_that_were_sent(line: Line) -> None:
    with Path(os.devnull).open("rb") as file:
        wire.send(line[0], {"text": "x" * 5000}, [file.fileno()])
        received = wire.receive(line[1])
        assert received is not None
        assert os.path.sameopenfile(file.fileno(), received[1][0])
        wire.close(received[1])


def test_the_end_of_the_line_is_no_message(line: Line) -> None:
    line[0].close()
    assert wire.receive(line[1]) is None


def test_an_answer_arrives_though_no_file_can_be_opened(line: Line) -> None:
    with no_more_than(0):
        wire.send(line[0], {"pid": 1})
        assert wire.receive(line[1]) == ({"pid": 1}, [])


@pytest.mark.parametrize("left", [0, 1, 2])
@pytest.mark.parametrize("length", [0, 5000])
def test_a_message_whose_descriptors_cannot_be_had_is_an_error_and_leaves_none(
    line: Line, left: int, length: int
) -> None:
    with Path(os.devnull).open("rb") as file:
        wire.send(line[0], {"text": "x" * length}, [file.fileno()] * 3)
    before = open_descriptors()
    with no_more_than(left), pytest.raises(OSError, match="Too many open files") as error:
        wire.receive(line[1])
    assert error.value.errno == errno.EMFILE
    assert open_descriptors() == before
    wire.send(line[0], {"next": 1})
    assert wire.receive(line[1]) == ({"next": 1}, [])
