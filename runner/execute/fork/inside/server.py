"""A fork server: one thread, one connection with the operator, and children that serve its requests."""

from __future__ import annotations

import gc
import os
import select
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from . import wire
from .children import Children
from .process import flush, heed_signals
from .releases import UnknownReleaseError
from .supervisor import adopt


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

    def learn(self) -> bool:
        """Take in what children have found out; whether there was something that older children do not know."""
        ...

    def serve(self, message: wire.Message, descriptors: list[int], connection: int) -> Callable[[], None]:
        """In a child: serve one request, to the end of every process that it starts; how to tell who asked for it.

        Each of those closes `connection` and the descriptors, which are closed here too but for the first, a lock.
        """
        ...


class ForkServer:
    """Serves one connection until it is closed and the last child is gone."""

    def __init__(self, connection: socket.socket, program: Program) -> None:
        self._connection = connection
        self._program = program
        self._poll = select.poll()
        self._children = Children(self._poll, program.serve)
        self._serving = True

    def run(self) -> None:
        """Say that we are ready, then serve."""
        adopt()
        _settle()
        wire.send(self._connection, self._program.ready())
        self._poll.register(self._connection, select.POLLIN)
        while self._serving or self._children:
            ready = [descriptor for descriptor, _ in self._poll.poll(self._children.look_after_orphans())]
            if events := [other for other in ready if other != self._connection.fileno()]:
                self._children.on_event(events[0])  # one at a time, for it may change what the others are
            elif ready:
                self._listen()

    def _listen(self) -> None:
        try:
            request = wire.receive(self._connection)
        except OSError as error:
            if not wire.none_can_be_opened(error):
                raise
            self._say({"refused": f"cannot take a request: {error}"})
            return
        if request:
            self._answer(*request)
        else:
            self._serving = False
            self._poll.unregister(self._connection)
            self._children.dismiss()

    def _answer(self, message: wire.Message, descriptors: list[int]) -> None:
        try:
            if "tell" in message:
                self._program.told(message["tell"])
                _settle()
                answer: wire.Message = {}
            elif "alive" in message:
                answer = {}
            elif reason := self._program.refuses():
                answer = {"refused": reason}
            else:
                if self._program.learn():
                    self._children.dismiss()
                answer = {"pid": self._children.give(message, descriptors, self._connection.close)}
        except OSError as error:
            answer = {"refused": f"cannot fork: {error}"}
        finally:
            wire.close(descriptors)
        self._say(answer)

    def _say(self, answer: wire.Message) -> None:
        with suppress(OSError):  # that it is closed is found by the next look at it
            wire.send(self._connection, answer)


def _settle() -> None:
    """Keep the collector from touching, and so copying, in every child what is here now."""
    gc.collect()
    gc.freeze()


def start(kind: str, descriptor: int) -> None:
    """Import what the kind needs, then serve the connection until it is closed."""
    _like_a_fresh_python()
    sys.path[:] = [entry for entry in sys.path if entry]
    connection = socket.socket(fileno=descriptor)
    if kind == "specs":
        _specs(connection)
        return
    try:
        program = _plays() if kind == "plays" else _modules()
    except UnknownReleaseError as error:
        wire.send(connection, {"unfit": str(error)})
        return
    ForkServer(connection, program).run()


def _plays() -> Program:
    kept = [(number, os.dup(number)) for number in (1, 2)]
    file = os.memfd_create("said")
    for number, _ in kept:
        os.dup2(file, number)
    try:
        from .plays import Plays

        plays = Plays()
    finally:
        flush()
        for number, before in kept:
            os.dup2(before, number)
            os.close(before)
    plays.said = os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")
    os.close(file)
    return plays


def _specs(connection: socket.socket) -> None:
    from .specs import Answers
    from .workers import serve

    serve(connection, Answers().answer)


def _modules() -> Program:
    from .modules import Modules

    return Modules()


def _like_a_fresh_python() -> None:
    """Undo what the operator or its own parent did: children inherit it."""
    heed_signals()
    os.set_inheritable(0, True)
