"""Forks workers, which answer the operator's questions one after the other, within limits of CPU time and memory.

A question that exceeds a limit ends its own worker, and is answered with the limit; no other question waits. The
kernel enforces both limits, because a worker that is busy inside C code takes no signal handler's turn.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from . import wire
from .process import exit_after

MEMORY = 128 << 20
"""Bytes of address space that a worker may add to what the server has; a megabyte is usual."""
_OUT_OF_MEMORY = 3
"""The exit code of a worker that may have no more memory."""
_CAUSED_BY_VALUES = frozenset({signal.SIGPROF, signal.SIGSEGV, signal.SIGABRT})
Answer = Callable[[wire.Message], wire.Message]


@dataclass(frozen=True, slots=True)
class _Worker:
    pid: int
    connection: int
    cpu: float
    """Seconds of processor time for one question."""


def serve(connection: socket.socket, answer: Answer) -> None:
    """Fork a worker for each message, with the worker's connection to the operator, until ours is closed."""
    workers: dict[int, _Worker] = {}
    gc.collect()
    gc.freeze()  # the collector of a worker would copy what the server has
    wire.send(connection, {})
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor != connection.fileno():
                poll.unregister(descriptor)
                _reap(descriptor, workers.pop(descriptor))
                continue
            request = wire.receive(connection)
            if request is None:
                return  # workers end with their own connections
            for pidfd in _fork(connection, *request, workers, answer):
                poll.register(pidfd, select.POLLIN)


def _fork(
    connection: socket.socket,
    message: wire.Message,
    descriptors: list[int],
    workers: dict[int, _Worker],
    answer: Answer,
) -> list[int]:
    """The pidfd of a new worker; none where there is none, of which the operator is informed."""
    (theirs,) = descriptors
    cpu, nice = float(message["cpu"]), int(message["nice"])
    try:
        pid = os.fork()
    except OSError as error:
        os.close(theirs)
        wire.send(connection, {"refused": f"cannot fork: {error}"})
        return []
    if pid == 0:
        connection.close()
        for pidfd, other in workers.items():  # or the end of another worker would not close its connection
            wire.close((pidfd, other.connection))
        exit_after(lambda: _work(socket.socket(fileno=theirs), cpu, nice, answer))
    pidfd = os.pidfd_open(pid)
    workers[pidfd] = _Worker(pid, theirs, cpu)
    wire.send(connection, {})
    return [pidfd]


def _work(connection: socket.socket, cpu: float, nice: int, answer: Answer) -> int:
    """In a worker: answer until the operator closes the connection; the exit code."""
    os.nice(nice)
    most = int(_address_space() + MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        while request := wire.receive(connection):
            signal.setitimer(signal.ITIMER_PROF, cpu)
            wire.send(connection, answer(request[0]))
            signal.setitimer(signal.ITIMER_PROF, 0)
    except MemoryError:
        return _OUT_OF_MEMORY
    except OSError:  # nobody waits for the answer any more
        return 0
    return 0


def _reap(pidfd: int, worker: _Worker) -> None:
    """Answer for a worker that a limit has ended; of any other the operator sees its connection closed."""
    _, status = os.waitpid(worker.pid, 0)
    exceeded = ""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in _CAUSED_BY_VALUES:
        exceeded = f"{worker.cpu:g} s of processor time"
    elif os.WIFEXITED(status) and os.WEXITSTATUS(status) == _OUT_OF_MEMORY:
        exceeded = f"{MEMORY >> 20} MiB of memory"
    with socket.socket(fileno=worker.connection) as connection, suppress(OSError):
        if exceeded:
            wire.send(connection, {"exceeded": exceeded})
    os.close(pidfd)


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
