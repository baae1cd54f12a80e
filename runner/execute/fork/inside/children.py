"""What children of a fork server that were killed have left: it is killed too, and the lock of their request kept.

Nobody waits for it. What cannot be killed is given up after a while, and keeps only the lock of its own request.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from . import wire
from .process import exit_after
from .supervisor import (
    GIVEN_UP,
    adopt,
    all_exited,
    descendants,
    let_go_of_output,
    note_left,
    stay_until_all_exited,
)

_PAUSES = ((0.2, 5), (GIVEN_UP, 50))
_LONG_PAUSE = 1000
"""Milliseconds between two looks at what is left for less than so many seconds, and at what was given up."""


_KEPT = 8
"""How many children at most wait for another request."""
Serve = Callable[[wire.Message, list[int], int], Callable[[], None]]
"""Serves one request in a child: see `Program.serve`."""


@dataclass(slots=True, eq=False)
class _Left:
    """What one child has left; `since` is of the monotonic clock."""

    lock: int
    since: float
    pids: set[int] = field(default_factory=set)
    given_up: bool = False


class Orphans:
    """Those of one fork server."""

    def __init__(self) -> None:
        self._left: list[_Left] = []

    def __bool__(self) -> bool:
        return bool(self._left)

    def of_killed(self, lock: int) -> None:
        """A child was killed that served the request of this lock, which is ours from now on."""
        self._left.append(_Left(lock, time.monotonic()))

    def look(self, alive: Callable[[], set[int]]) -> int | None:
        """Kill what is left, and forget what has ended; milliseconds until the next look.

        `alive` are the children and all below them: whatever else there is below us is an orphan.
        """
        self._assign(set(descendants()) - alive())
        kept: list[_Left] = []
        for left in self._left:
            _kill(left.pids)
            left.pids = set(filter(_lives, left.pids))
            if left.pids or not all(earlier.given_up for earlier in kept):  # those may hold what is of this one
                kept.append(left)
            else:
                os.close(left.lock)
        self._left = kept
        return min(map(_pause, kept), default=None)

    def _assign(self, orphans: set[int]) -> None:
        """Those that are new are of the child that was killed last."""
        for left in self._left:
            left.pids &= orphans
        self._left[-1].pids |= orphans.difference(*(left.pids for left in self._left))

    def forget(self) -> None:
        """In a child: hold no lock."""
        for left in self._left:
            os.close(left.lock)
        self._left.clear()


def _kill(pids: set[int]) -> None:
    for pid in pids:
        with suppress(OSError):  # it has ended, or is another user's
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        with suppress(OSError):  # not our own child, or reaped
            os.waitpid(pid, os.WNOHANG)


def _lives(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def _pause(left: _Left) -> int:
    """Milliseconds; it is given up when it is there for too long."""
    passed = time.monotonic() - left.since
    if passed > GIVEN_UP and not left.given_up:
        left.given_up = True
        names = note_left(left.lock, sorted(left.pids))
        with suppress(OSError):  # the operator, which reads it, may be gone
            print(f"given up: processes of a run cannot be ended: {names}", file=sys.stderr, flush=True)  # noqa: T201
    return next((pause for seconds, pause in _PAUSES if passed < seconds), _LONG_PAUSE)


@dataclass(slots=True, eq=False)
class _Child:
    """`lock` is that of the request it serves, None while it waits for one; `kept`: it may get another."""

    pid: int
    connection: socket.socket
    lock: int | None = None
    kept: bool = True

    @property
    def waits(self) -> bool:
        """For another request; one that has just been killed does not."""
        return (
            self.kept
            and self.lock is None
            and not os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        )

    def unlock(self) -> None:
        """Its request is served."""
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def dismiss(self) -> None:
        """Let it end when it has served its request."""
        if self.kept:
            self.kept = False
            self.connection.shutdown(socket.SHUT_WR)


class Children:
    """Those of one fork server. `poll` is what it waits with; it has `on_event` called for what is ours."""

    def __init__(self, poll: select.poll, serve: Serve) -> None:
        self._poll = poll
        self._serve = serve
        self._by_pidfd: dict[int, _Child] = {}
        self._by_connection: dict[int, _Child] = {}
        self._orphans = Orphans()

    def __bool__(self) -> bool:
        return bool(self._by_pidfd or self._orphans)

    def give(self, message: wire.Message, descriptors: list[int], forget: Callable[[], None]) -> int:
        """Have a request served, and its first descriptor kept open meanwhile; the child's pid.

        A child that is forked for it calls `forget` first. Raises OSError.
        """
        waiting = (child for child in self._by_pidfd.values() if child.waits)
        child = next(waiting, None) or self._fork(descriptors, forget)
        child.lock = os.dup(descriptors[0])
        try:
            wire.send(child.connection, message, descriptors)
        except OSError:
            child.unlock()
            raise
        return child.pid

    def dismiss(self) -> None:
        """Give no further request to the children that there are."""
        for child in self._by_pidfd.values():
            child.dismiss()

    def look_after_orphans(self) -> int | None:
        """Do what is due for those of children that were killed; milliseconds until this is to be called again."""
        return self._orphans.look(self._alive) if self._orphans else None

    def on_event(self, descriptor: int) -> None:
        """A descriptor of ours can be read."""
        if descriptor in self._by_pidfd:
            self._ended(descriptor)
        else:
            self._done(self._by_connection[descriptor])

    def _fork(self, descriptors: list[int], forget: Callable[[], None]) -> _Child:
        with ExitStack() as undo:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            undo.callback(ours.close)
            with theirs:
                pid = os.fork()
                if not pid:
                    ours.close()
                    wire.close(descriptors)  # they will be sent
                    self._forget()
                    forget()
                    exit_after(lambda: _live(self._serve, theirs))
            undo.callback(os.waitpid, pid, 0)  # its connection is closed then, and it will end
            undo.callback(ours.close)
            pidfd = os.pidfd_open(pid)
            undo.pop_all()
        child = _Child(pid, ours)
        self._by_pidfd[pidfd] = self._by_connection[ours.fileno()] = child
        self._poll.register(pidfd, select.POLLIN)
        self._poll.register(ours, select.POLLIN)
        return child

    def _forget(self) -> None:
        """In a child: hold nothing of the other children's, above all not their locks."""
        for pidfd, child in self._by_pidfd.items():
            os.close(pidfd)
            child.connection.close()
            child.unlock()
        self._by_pidfd.clear()
        self._by_connection.clear()
        self._orphans.forget()

    def _done(self, child: _Child) -> None:
        if not _told(child.connection):  # it ends, which its pidfd will tell
            self._poll.unregister(child.connection)
            return
        child.unlock()
        if sum(child.waits for child in self._by_pidfd.values()) > _KEPT:
            child.dismiss()

    def _ended(self, pidfd: int) -> None:
        child = self._by_pidfd.pop(pidfd)
        del self._by_connection[child.connection.fileno()]
        with suppress(KeyError):
            self._poll.unregister(child.connection)
        self._poll.unregister(pidfd)
        child.connection.close()
        os.close(pidfd)
        _, status = os.waitpid(child.pid, 0)
        if os.WIFSIGNALED(status) and child.lock is not None:
            self._orphans.of_killed(child.lock)
            child.lock = None
        child.unlock()

    def _alive(self) -> set[int]:
        pids = {child.pid for child in self._by_pidfd.values()}
        return pids.union(*(descendants(pid) for pid in pids))


def _told(connection: socket.socket) -> bool:
    """Whether the child says that it is done; it has ended if not, and was killed if it left a request unread."""
    try:
        return bool(connection.recv(1))
    except ConnectionResetError:
        return False


def _live(serve: Serve, connection: socket.socket) -> int:
    """In a child: serve requests until the connection is closed."""
    adopt()
    let_go_of_output()
    while request := wire.receive(connection):
        message, descriptors = request
        tell = serve(message, descriptors, connection.fileno())
        if not all_exited():
            tell()
            stay_until_all_exited(descriptors[0])
            break
        os.close(descriptors[0])
        with suppress(OSError):  # whoever has forked us is gone, which the run is not to be told
            connection.send(b".")
        tell()  # last, so that whoever is told finds us waiting for the next request
    return 0
