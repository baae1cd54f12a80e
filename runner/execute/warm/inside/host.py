"""The side of Ansible that asks the run's module host to run a module."""

from __future__ import annotations

import os
import selectors
import socket
from contextlib import ExitStack, suppress
from typing import Any

from . import wire
from .command import Result, as_told_by_shell, shell_sets
from .eligible import Found
from .files import umask
from .lines import Packed

_KILLED = -9
_CHUNK = 65536


class Host:
    """Asks over a line that all workers of a run share; each answer comes over a line of its own."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def run(self, found: Found, packed: Packed, environment: dict[str, str], cwd: Any) -> Result | None:
        """Run a module to its end. None says that the host will not, and has not begun."""
        with ExitStack() as ours:
            try:
                answers, pipes = self._ask(ours, _message(found, packed, environment, cwd))
            except OSError:
                return None
            return _follow(answers, pipes)

    def _ask(self, ours: ExitStack, message: wire.Message) -> tuple[socket.socket, list[int]]:
        """Where its answers come, and the pipes that stdout and stderr come through. Raises OSError."""
        with ExitStack() as theirs:
            answers, reply = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.enter_context(answers)
            theirs.enter_context(reply)
            pipes = [wire.pipe(ours, theirs) for _ in range(2)]
            wire.send(self._line, message, [reply.fileno(), *(write for _, write in pipes)])
            return answers, [read for read, _ in pipes]


def _message(found: Found, packed: Packed, environment: dict[str, str], cwd: Any) -> wire.Message:
    directory = os.fsdecode(cwd) if cwd else os.getcwd()
    if "PWD" in environment or "PWD" in shell_sets():
        environment["PWD"] = directory
    return {
        "module": found.name,
        "files": found.files,
        "collections": found.collections,
        "parameters": packed.parameters,
        "profile": packed.profile,
        "open_files": packed.open_files,
        "environment": environment,
        "cwd": directory,
        "umask": umask(),
    }


def _follow(answers: socket.socket, pipes: list[int]) -> Result | None:
    first = _answer(answers)
    if first is None or "started" not in first:
        return None
    stdout, stderr = _read(pipes)
    last = _answer(answers)
    code, said = as_told_by_shell(last["code"] if last else _KILLED)
    return code, stdout, stderr + said


def _answer(answers: socket.socket) -> wire.Message | None:
    with suppress(OSError):
        answer = wire.receive(answers)
        return answer[0] if answer else None
    return None


def _read(pipes: list[int]) -> tuple[bytes, bytes]:
    """Everything from both, until nobody holds the other ends."""
    contents = {pipe: bytearray() for pipe in pipes}
    with selectors.PollSelector() as selector:  # needs no descriptor of its own
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                data = os.read(key.fd, _CHUNK)
                contents[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
    stdout, stderr = (bytes(contents[pipe]) for pipe in pipes)
    return stdout, stderr
