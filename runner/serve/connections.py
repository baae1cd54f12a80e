"""Accepts connections and bounds them: their number, and the time of each for its handshake and request.

A client that opens connections and sends nothing, or a byte now and then, keeps nobody out: above the limit the
oldest connection without a whole request is closed first, then the one that has been idle for longest.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import partial

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from runner.stopping import ended

log = structlog.get_logger(__name__)

_AFTER_ERROR = 1.0
"""Seconds until the next attempt to accept, for example where the process has no descriptors left."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one listener: open connections, seconds until a request's head has come, seconds of idleness.

    An idle connection of the API server ends after 90 seconds by its own rule, which has to come first.
    """

    connections: int = 512
    head: float = 10.0
    idle: float = 120.0


class _Stage(IntEnum):
    """What a connection waits for, in the order in which connections are closed above the limit."""

    HEAD = 0
    BODY = 1
    IDLE = 2
    ANSWER = 3


class _Connection(asyncio.Protocol):
    """Passes everything on to aiohttp's protocol, and keeps the stage and its beginning."""

    def __init__(self, inner: asyncio.Protocol) -> None:
        self.inner = inner
        self.lost = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self.enter(_Stage.HEAD)

    def enter(self, stage: _Stage) -> None:
        self.stage, self.since = stage, time.monotonic()

    @property
    def made(self) -> bool:
        """Whether the handshake is over."""
        return self._transport is not None

    async def serve(self, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Shake hands, and wait for the end of the connection."""
        with suppress(OSError):  # a handshake that the client breaks off
            await asyncio.get_running_loop().connect_accepted_socket(lambda: self, accepted, ssl=tls)
            await self.lost.wait()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        elif self.task is not None:  # in the handshake
            self.task.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport if isinstance(transport, asyncio.Transport) else None
        self.inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self.stage is _Stage.IDLE:
            self.enter(_Stage.HEAD)
        self.inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self.inner.eof_received()

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self.inner.connection_lost(exc)
        self.lost.set()


_CONNECTION = web.RequestKey("connection", _Connection)


def arrived(request: web.Request) -> None:
    """Note that the body of a request has come: its connection is not closed any more in favour of others."""
    if connection := request.get(_CONNECTION):
        connection.enter(_Stage.ANSWER)


class Connections:
    """The open connections of one listener, from `start` to `stop`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: dict[object, _Connection] = {}
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._sockets: list[socket.socket] = []

    def __len__(self) -> int:
        return len(self._open)

    def start(
        self, sockets: Iterable[socket.socket], make: Callable[[], asyncio.Protocol], tls: ssl.SSLContext | None
    ) -> None:
        """Accept connections; `make` makes aiohttp's protocol for one."""
        self._sockets = list(sockets)
        for listening in self._sockets:
            listening.setblocking(False)
            self._tasks.append(asyncio.create_task(self._accept(listening, make, tls), name="accept"))
        self._tasks.append(asyncio.create_task(self._close_late(), name="close-late-connections"))

    async def stop(self) -> None:
        """Accept no more. Open connections stay until `close`."""
        for task in self._tasks:
            await ended(task)
        for listening in self._sockets:
            listening.close()

    async def close(self) -> None:
        """Close all connections."""
        tasks = [connection.task for connection in self._open.values() if connection.task]
        for connection in self._open.values():
            connection.close()
        await asyncio.gather(*tasks, return_exceptions=True)

    @web.middleware
    async def note(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """A middleware that notes the stage of the connection."""
        connection = self._open.get(request.protocol)
        if connection is None:
            return await handler(request)
        request[_CONNECTION] = connection
        connection.enter(_Stage.BODY if request.can_read_body else _Stage.ANSWER)
        try:
            return await handler(request)
        finally:
            connection.enter(_Stage.IDLE)
            self._changed.set()

    async def _accept(
        self, listening: socket.socket, make: Callable[[], asyncio.Protocol], tls: ssl.SSLContext | None
    ) -> None:
        while True:
            try:
                accepted, _ = await asyncio.get_running_loop().sock_accept(listening)
            except OSError as error:
                log.warning("No connection can be accepted", error=str(error))
                await asyncio.sleep(_AFTER_ERROR)
                continue
            try:
                await self._make_room()
            except BaseException:
                accepted.close()
                raise
            connection = _Connection(make())
            self._open[connection.inner] = connection
            connection.task = asyncio.create_task(connection.serve(accepted, tls))
            connection.task.add_done_callback(partial(self._forget, connection, accepted))

    async def _make_room(self) -> None:
        while len(self._open) >= self._limits.connections:
            oldest = self._oldest()
            if oldest is not None:
                del self._open[oldest.inner]
                oldest.close()
            else:
                self._changed.clear()
                await self._changed.wait()

    def _oldest(self) -> _Connection | None:
        """The connection to close in favour of another; None if all requests have come."""
        waiting = [one for one in self._open.values() if one.stage is not _Stage.ANSWER]
        return min(waiting, key=lambda one: (one.stage, one.since), default=None)

    def _forget(self, connection: _Connection, accepted: socket.socket, _: asyncio.Task[None]) -> None:
        self._open.pop(connection.inner, None)
        if not connection.made:  # nobody else has the socket
            accepted.close()
        self._changed.set()

    async def _close_late(self) -> None:
        limits = {_Stage.HEAD: self._limits.head, _Stage.IDLE: self._limits.idle}
        while True:
            await asyncio.sleep(min(1.0, self._limits.head / 4))
            now = time.monotonic()
            for connection in list(self._open.values()):
                if now - connection.since > limits.get(connection.stage, float("inf")):
                    connection.close()
