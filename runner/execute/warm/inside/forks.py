"""A fork server: one thread, one line to the operator, and a child for each request.

It waits for its children, keeps the lock that a request brought until the child is gone, and when a child was
killed it ends the orphans that come to it before it lets go of the lock.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, Protocol

from . import wire
from .supervisor import adopt, descendants

_PAUSE = 0.005


class Program(Protocol):
    """What a fork server forks for."""

    def ready(self) -> wire.Message:
        """What the operator is told when all is imported."""
        ...

    def told(self, message: wire.Message) -> None:
        """The operator tells something that concerns every later child."""
        ...

    def refuses(self) -> str:
        """Why no child may be forked any more, else an empty string."""
        ...

    def child(self, message: wire.Message, descriptors: list[int]) -> int:
        """Serve one request, in a process of its own; its exit code."""
        ...


class ForkServer:
    """Serves one line until it ends and the last child is gone."""

    def __init__(self, line: socket.socket, program: Program) -> None:
        self._line = line
        self._program = program
        self._children: dict[int, tuple[int, int]] = {}  # the pid, by pidfd, and the lock it holds
        self._poll = select.poll()

    def run(self) -> None:
        """Say that we are ready, then serve."""
        adopt()
        _settle()
        wire.send(self._line, self._program.ready())
        self._poll.register(self._line, select.POLLIN)
        serving = True
        while serving or self._children:
            for descriptor, _ in self._poll.poll():
                if descriptor in self._children:
                    self._ended(descriptor)
                elif not self._serve():
                    serving = False
                    self._poll.unregister(self._line)

    def _serve(self) -> bool:
        """Serve one request; False at the end of the line."""
        request = wire.receive(self._line)
        if request is None:
            return False
        message, descriptors = request
        try:
            if "tell" in message:
                self._program.told(message["tell"])
                _settle()
                answer: wire.Message = {}
            elif reason := self._program.refuses():
                answer = {"refused": reason}
            else:
                answer = {"pid": self._fork(message, descriptors)}
        except OSError as error:
            answer = {"refused": f"cannot fork: {error}"}
        finally:
            wire.close(descriptors)
        with suppress(OSError):  # the end of the line is found by the next look at it
            wire.send(self._line, answer)
        return True

    def _fork(self, message: wire.Message, descriptors: list[int]) -> int:
        """Fork a child. The first descriptor is the lock that must stay locked until it is gone."""
        pid = os.fork()
        if not pid:
            self._forget()
            leave(lambda: self._program.child(message, descriptors))
        pidfd = os.pidfd_open(pid)
        self._children[pidfd] = (pid, os.dup(descriptors[0]))
        self._poll.register(pidfd, select.POLLIN)
        return pid

    def _forget(self) -> None:
        """In a child: hold nothing of the other children's, above all not their locks."""
        self._line.close()
        for pidfd, (_, lock) in self._children.items():
            wire.close([pidfd, lock])
        self._children.clear()

    def _ended(self, pidfd: int) -> None:
        pid, lock = self._children.pop(pidfd)
        self._poll.unregister(pidfd)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            self._end_orphans()
        wire.close([pidfd, lock])

    def _end_orphans(self) -> None:
        """Kill what a child that was killed has left; whatever is not below another child is an orphan."""
        while orphans := set(descendants()) - self._alive():
            for orphan in orphans:
                _kill(orphan)
            _reap(orphans)
            time.sleep(_PAUSE)

    def _alive(self) -> set[int]:
        children = {pid for pid, _ in self._children.values()}
        return children.union(*(descendants(child) for child in children))


def _settle() -> None:
    """Keep the collector from touching, and so copying, in every child what is here now."""
    gc.collect()
    gc.freeze()


def _kill(pid: int) -> None:
    with suppress(OSError):  # it has ended
        os.kill(pid, signal.SIGKILL)


def _reap(pids: set[int]) -> None:
    for pid in pids:
        with suppress(OSError):  # not our own child, or reaped
            os.waitpid(pid, os.WNOHANG)


def leave(work: Callable[[], int]) -> NoReturn:
    """Exit with what `work` returns, without running anything that belongs to the process we were forked from."""
    code = 1
    try:
        code = work()
    except SystemExit as ending:
        code = exit_code(ending)
    except BaseException:
        traceback.print_exc()
    finally:
        flush()
        os._exit(code)


def exit_code(ending: SystemExit) -> int:
    """The code of a process that ends with this, as the interpreter makes it."""
    if ending.code is None:
        return 0
    if isinstance(ending.code, int):
        return ending.code & 0xFF
    print(ending.code, file=sys.stderr)  # noqa: T201
    return 1


def flush() -> None:
    """Write out what is buffered; somebody may have closed the streams."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
