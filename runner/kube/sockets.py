"""The fence, and the sockets to the API server, which send nothing past it and notice a vanished peer."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakSet

import aiohappyeyeballs

from runner.errors import LeadershipLostError
from runner.kube.clock import boottime
from runner.kube.connection import addresses

_LOOK_EVERY = 0.005
VANISHED_SECONDS = 60.0
"""After so long without a sign of life the connection is broken: idle or with something sent. Go takes 45 s."""


class Fence:
    """Open for ever until it is told a time; shut from that time on, or at once by `close`."""

    def __init__(self, now: Callable[[], float] = boottime) -> None:
        self._now = now
        self._until = math.inf
        self._closed = False

    @property
    def shut(self) -> bool:
        return self._closed or self._now() >= self._until

    def is_open(self) -> bool:
        return not self.shut

    def open_until(self, moment: float) -> None:
        """In seconds of the fence's clock. Has no effect on a fence that was closed."""
        self._until = moment

    def close(self) -> None:
        """Shut it for good."""
        self._closed = True

    def check(self) -> None:
        """Raises LeadershipLostError when the fence is shut."""
        if self.shut:
            raise LeadershipLostError(
                "leadership is lost or in doubt: another process may lead now, nothing is sent any more"
            )


class FencedSocket(socket.socket):
    """A socket that sends nothing past its fence. It has the methods that asyncio sends by."""

    fence: Fence

    def send(self, data: Any, flags: int = 0) -> int:  # noqa: ANN401  (anything with a buffer)
        self._pass()
        return super().send(data, flags)

    def sendmsg(self, buffers: Any, *rest: Any) -> int:  # noqa: ANN401  (anything with a buffer)
        self._pass()
        return super().sendmsg(buffers, *rest)

    def _pass(self) -> None:
        if self.fence.shut:
            raise ConnectionAbortedError("leadership is lost")  # what asyncio takes for a broken line


def fenced_socket(fence: Fence, address: tuple[Any, ...]) -> socket.socket:
    """A socket that notices a vanished peer, rather than within two hours, or 15 minutes if something was sent."""
    family, kind, proto = address[0], address[1], address[2]
    made = FencedSocket(family, kind, proto)
    made.fence = fence
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    unacknowledged = int(VANISHED_SECONDS * 1000)
    options = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": unacknowledged}
    for name, value in options.items():
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


class Sockets:
    """Makes the sockets of one client, and knows which of them are still open."""

    def __init__(self, fence: Fence) -> None:
        self._fence = fence
        self._made: WeakSet[socket.socket] = WeakSet()

    def make(self, address: tuple[Any, ...]) -> socket.socket:
        """A fenced socket for an address, as aiohttp asks for it."""
        made = fenced_socket(self._fence, address)
        self._made.add(made)
        return made

    async def closed(self, seconds: float) -> None:
        """Wait until all are closed, at most so long: the end of a TLS connection takes a round trip."""
        time = asyncio.get_running_loop().time
        end = time() + seconds
        while any(made.fileno() != -1 for made in self._made) and time() < end:  # noqa: ASYNC110  (asyncio tells nobody)
            await asyncio.sleep(_LOOK_EVERY)


async def connected(host: str, port: int, fence: Fence) -> socket.socket:
    """A connection to one of the addresses of a host. Raises OSError."""
    found = await addresses(host, port)
    return await aiohappyeyeballs.start_connection(found, socket_factory=partial(fenced_socket, fence))
