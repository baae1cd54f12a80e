"""Blocking calls in threads of their own: those of the default executor may all be stuck, in a disk that is.

Nothing that keeps a Lease renewed may wait for them.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from aiohttp.abc import AbstractResolver, ResolveResult

T = TypeVar("T")
Address = tuple[Any, Any, int, str, Any]
"""As `getaddrinfo` has them: family, kind, protocol, canonical name, socket address."""


async def in_own_thread(call: Callable[[], T]) -> T:
    """What `call` returns or raises. Who is cancelled leaves the thread alone, and so does the process' end."""
    future: Future[T] = Future()

    def work() -> None:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(call())
            except Exception as error:  # noqa: BLE001  (the caller's)
                future.set_exception(error)

    threading.Thread(target=work, daemon=True, name="kube-aside").start()
    return await asyncio.wrap_future(future)


async def addresses(host: str, port: int, family: int = socket.AF_UNSPEC) -> list[Address]:
    """The addresses of a host, as `getaddrinfo` says them. Raises OSError."""
    kind, flags = socket.SOCK_STREAM, socket.AI_ADDRCONFIG
    return await in_own_thread(lambda: socket.getaddrinfo(host, port, family, kind, flags=flags))


class Resolver(AbstractResolver):
    """Finds addresses for aiohttp."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address[0],
                port=address[1],
                family=found_family,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for found_family, _, proto, _, address in await addresses(host, port, family)
        ]

    async def close(self) -> None:
        """There is nothing to close."""
