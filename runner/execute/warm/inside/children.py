"""The children of a fork server, some of which wait for another request when they are done with one.

A child keeps nothing of a request but what its program keeps; what was started for it is gone before the next one.
To fork and to end a child for each request would cost a tenth of a short run.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from . import wire
from .leaving import leave
from .orphans import Orphans
from .supervisor import adopt, descendants, let_go_of_output, none_left, stay_until_none_left

_KEPT = 8
"""How many children at most wait for another request."""

Serve = Callable[[wire.Message, list[int], int], Callable[[], None]]
"""Serves one request in a child: see `Program.serve`."""


@dataclass(slots=True, eq=False)
class _Child:
    """`lock` is that of the request it serves, None while it waits for one; `kept`: it may get another."""

    pid: int
    line: socket.socket
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
            self.line.shutdown(socket.SHUT_WR)


class Children:
    """Those of one fork server. `poll` is what it waits with; it has `on_event` called for what is ours."""

    def __init__(self, poll: select.poll, serve: Serve) -> None:
        self._poll = poll
        self._serve = serve
        self._by_pidfd: dict[int, _Child] = {}
        self._by_line: dict[int, _Child] = {}
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
            wire.send(child.line, message, descriptors)
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
            self._done(self._by_line[descriptor])

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
                    leave(lambda: _live(self._serve, theirs))
            undo.callback(os.waitpid, pid, 0)  # its line has ended then, and so will it
            undo.callback(ours.close)
            pidfd = os.pidfd_open(pid)
            undo.pop_all()
        child = _Child(pid, ours)
        self._by_pidfd[pidfd] = self._by_line[ours.fileno()] = child
        self._poll.register(pidfd, select.POLLIN)
        self._poll.register(ours, select.POLLIN)
        return child

    def _forget(self) -> None:
        """In a child: hold nothing of the other children's, above all not their locks."""
        for pidfd, child in self._by_pidfd.items():
            os.close(pidfd)
            child.line.close()
            child.unlock()
        self._by_pidfd.clear()
        self._by_line.clear()
        self._orphans.forget()

    def _done(self, child: _Child) -> None:
        if not child.line.recv(1):  # it ends, which its pidfd will tell
            self._poll.unregister(child.line)
            return
        child.unlock()
        if sum(child.waits for child in self._by_pidfd.values()) > _KEPT:
            child.dismiss()

    def _ended(self, pidfd: int) -> None:
        child = self._by_pidfd.pop(pidfd)
        del self._by_line[child.line.fileno()]
        with suppress(KeyError):
            self._poll.unregister(child.line)
        self._poll.unregister(pidfd)
        child.line.close()
        os.close(pidfd)
        _, status = os.waitpid(child.pid, 0)
        if os.WIFSIGNALED(status) and child.lock is not None:
            self._orphans.of_killed(child.lock)
            child.lock = None
        child.unlock()

    def _alive(self) -> set[int]:
        pids = {child.pid for child in self._by_pidfd.values()}
        return pids.union(*(descendants(pid) for pid in pids))


def _live(serve: Serve, line: socket.socket) -> int:
    """In a child: serve requests until the line ends."""
    adopt()
    let_go_of_output()
    while request := wire.receive(line):
        message, descriptors = request
        tell = serve(message, descriptors, line.fileno())
        if not none_left():
            tell()
            stay_until_none_left(descriptors[0])
            break
        os.close(descriptors[0])
        with suppress(OSError):  # whoever has forked us is gone, which the run is not to be told
            line.send(b".")
        tell()  # last, so that whoever is told finds us waiting for the next request
    return 0
