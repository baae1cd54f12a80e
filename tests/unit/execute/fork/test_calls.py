"""How a module call reaches the module host, and that nothing is run twice where no more files can be opened."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator

import pytest

pytest.importorskip("ansible")

from runner.execute.fork.inside import wire
from runner.execute.fork.inside.calls import Host
from runner.execute.fork.inside.eligible import Found, umask
from runner.execute.fork.inside.releases import Packed
from runner.execute.fork.inside.shell import Result
from tests.fixtures.descriptors import no_more_than, open_descriptors

PATIENCE = 10.0
PACKED = Packed("{}", "", 0)


@pytest.fixture
def line() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


def serve(line: socket.socket, begun: threading.Event, shortage: threading.Event) -> None:
    """Be the host: say that a module has begun, have it write something once files are short, and end."""
    request = wire.receive(line)
    assert request is not None
    reply, stdout, stderr = request[1]
    with socket.socket(fileno=reply) as answer:
        wire.send(answer, {"started": True})
        begun.set()
        shortage.wait(PATIENCE)
        os.write(stdout, b"out")
        wire.close([stdout, stderr])
        wire.send(answer, {"code": 3})


def test_a_module_that_has_begun_is_followed_to_its_end_though_no_more_files_can_be_opened(
    line: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, shortage = threading.Event(), threading.Event()
    thread = threading.Thread(target=serve, args=(line[1], begun, shortage))
    thread.start()
    send = wire.send
    results: list[Result | None] = []

    def send_then_run_short(*arguments: object) -> None:
        monkeypatch.undo()
        send(*arguments)  # type: ignore[arg-type]
        assert begun.wait(PATIENCE)  # it opens files of this very process
        context.__enter__()
        shortage.set()

    context = no_more_than(0)
    monkeypatch.setattr(wire, "send", send_then_run_short)
    try:
        results.append(Host(line[0]).run(Found("", {}, {}), PACKED, {}, None))
    finally:
        context.__exit__(None, None, None)
        thread.join()
    assert results == [(3, b"out", b"")]


@pytest.mark.parametrize("more", range(6))
def test_a_module_that_cannot_be_asked_for_is_refused_and_no_file_stays_open(
    line: tuple[socket.socket, socket.socket], more: int
) -> None:
    before = open_descriptors()
    with no_more_than(more):
        assert Host(line[0]).run(Found("", {}, {}), PACKED, {}, None) is None
    assert open_descriptors() == before


@pytest.mark.parametrize("mask", [0o022, 0o077, 0])
def test_the_umask_is_told_as_it_is_and_stays(mask: int) -> None:
    before = os.umask(mask)
    try:
        assert umask() == mask
    finally:
        assert os.umask(before) == mask


def test_telling_the_umask_does_not_set_it_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "umask", pytest.fail)
    assert umask() >= 0


def test_where_the_umask_cannot_be_looked_up_it_is_private_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_to: list[int] = []
    stock = os.umask

    def record(mask: int) -> int:
        set_to.append(mask)
        return stock(mask)

    before = stock(0o022)
    monkeypatch.setattr(os, "umask", record)
    try:
        with no_more_than(0):
            assert umask() == 0o022
        assert set_to == [0o077, 0o022]
    finally:
        stock(before)
