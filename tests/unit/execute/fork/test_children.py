"""The children of a fork server: real forks, with a program that answers with its pid."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.execute.fork.inside import children, wire
from runner.execute.fork.inside.children import Children
from runner.execute.fork.inside.supervisor import descendants
from tests.fixtures.descriptors import no_more_than, open_descriptors

PATIENCE = 10.0


def serve(_message: wire.Message, descriptors: list[int], _line: int) -> Callable[[], None]:
    """Write our pid to the second descriptor, when there is something to read from the third."""
    _lock, answer, gate = descriptors
    os.read(gate, 1)
    os.close(gate)

    def tell() -> None:
        os.write(answer, str(os.getpid()).encode())
        os.close(answer)

    return tell


class Server:
    """Gives requests to children, and takes in what they say."""

    def __init__(self) -> None:
        self.poll = select.poll()
        self.children = Children(self.poll, serve)

    def request(self, lock: Path = Path(os.devnull)) -> Request:
        return Request(self, lock)

    def until(self, done: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < deadline
            self.children.look_after_orphans()
            for descriptor, _ in self.poll.poll(20)[:1]:
                self.children.on_event(descriptor)


class Request:
    """One that is served when it may be."""

    def __init__(self, server: Server, lock: Path) -> None:
        self._server = server
        self._answer, told = os.pipe()
        gate, self._gate = os.pipe()
        with lock.open("a") as file:
            if lock.is_file():
                fcntl.flock(file, fcntl.LOCK_EX)
            descriptors = [file.fileno(), told, gate]
            self.pid = server.children.give({}, descriptors, lambda: None)
        wire.close([told, gate])

    def finish(self) -> int:
        """Let it be served; the pid that answers, 0 if there is no answer."""
        os.write(self._gate, b".")
        os.close(self._gate)
        self._server.until(lambda: select.select([self._answer], [], [], 0)[0])
        said = os.read(self._answer, 64)
        os.close(self._answer)
        return int(said or 0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """In a process that has other children, which are no orphans to be killed."""
    for module in (children, children):
        monkeypatch.setattr(module, "descendants", lambda _of=0: [])
    server = Server()
    yield server
    server.children.dismiss()
    server.until(lambda: not server.children)


def test_a_child_that_is_done_is_given_the_next_request(server: Server) -> None:
    first = server.request().finish()
    server.until(lambda: _waits(server, first))
    assert server.request().finish() == first


def test_a_child_that_is_busy_is_given_no_request(server: Server) -> None:
    first, second = server.request(), server.request()
    assert first.pid != second.pid
    assert (first.finish(), second.finish()) == (first.pid, second.pid)


def test_a_child_that_was_killed_while_it_waited_is_given_no_request(server: Server) -> None:
    first = server.request().finish()
    server.until(lambda: _waits(server, first))
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert server.request().finish() != first


def test_a_child_that_is_killed_before_it_has_read_a_request_ends_alone(server: Server) -> None:
    """Its end of the connection is reset then, not closed."""
    first = server.request().finish()
    server.until(lambda: _waits(server, first))
    os.kill(first, signal.SIGSTOP)
    unread = server.request()
    assert unread.pid == first
    os.kill(first, signal.SIGKILL)
    assert unread.finish() == 0
    assert server.request().finish() != first


def test_a_child_that_was_dismissed_is_given_no_request_though_it_finishes(server: Server) -> None:
    first = server.request()
    server.children.dismiss()
    second = server.request()
    assert first.pid != second.pid
    assert first.finish() == first.pid
    server.until(lambda: not Path(f"/proc/{first.pid}").exists())
    assert second.finish() == second.pid


def test_a_request_stays_locked_until_it_is_served_and_no_longer(server: Server, tmp_path: Path) -> None:
    """Also when another child was forked meanwhile."""
    locked = tmp_path / "lock"
    first, second = server.request(locked), server.request()
    assert not _can_be_locked(locked)
    first.finish()
    server.until(lambda: _waits(server, first.pid))
    server.until(lambda: _can_be_locked(locked))  # the second closes its copy when it begins
    second.finish()


def test_a_request_that_cannot_be_passed_on_keeps_no_lock(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no file")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(wire, "send", fail)
        with pytest.raises(OSError, match="no file"):
            server.request(tmp_path / "lock")
    server.until(lambda: _can_be_locked(tmp_path / "lock"))  # the child closes its copy when it begins
    assert server.request().finish()


def test_a_child_whose_end_would_not_be_seen_is_ended_at_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_pid: int) -> int:
        raise OSError("no file")

    before = descendants()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(os, "pidfd_open", fail)
        with pytest.raises(OSError, match="no file"):
            server.request()
    assert not server.children
    assert descendants() == before


@pytest.mark.parametrize("more", range(3))
def test_a_child_that_cannot_be_watched_for_want_of_files_is_none(
    server: Server, tmp_path: Path, more: int
) -> None:
    """Nor does anything stay open for it."""
    (tmp_path / "lock").touch()
    with (tmp_path / "lock").open("a") as file:
        before = open_descriptors()
        with no_more_than(more), pytest.raises(OSError, match="Too many open files"):
            server.children.give({}, [file.fileno()], lambda: None)
        server.children.dismiss()
        server.until(lambda: not server.children)
        assert open_descriptors() == before


def _can_be_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _waits(server: Server, pid: int) -> bool:
    return any(child.pid == pid and child.waits for child in server.children._by_pidfd.values())
