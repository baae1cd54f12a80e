"""Opening the sockets the operator listens on, with Go's spelling of addresses."""

from __future__ import annotations

import errno
import socket
from asyncio.sslproto import SSLProtocol

from runner.errors import ListenError, SettingsError

BACKLOG = 128
TRIES = 10
SSLProtocol.max_size = 32 * 1024  # asyncio's own: 256 KiB for each connection, of which a burst opens hundreds
NO_IPV6 = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT})


def parse_address(text: str) -> tuple[str, int] | None:
    """`host:port`, `:port` for every interface (an empty host), `[::1]:port`; None for "" and "0", which disable.

    Raises SettingsError for anything else.
    """
    if text in {"", "0"}:
        return None
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise SettingsError(f'"{text}" is no address to listen on: write host:port, :port, or 0 to disable')
    return host, int(port)


def loopback(port: int) -> list[socket.socket]:
    """Sockets on 127.0.0.1 and, where there is IPv6, ::1, with one port; 0 takes a free one.

    `localhost` may mean either, and a port left open on one would be somebody else's to take.
    Raises ListenError when the port is in use.
    """
    for attempt in range(TRIES):
        try:
            first = _bound(socket.AF_INET, "127.0.0.1", port)
        except OSError as error:
            raise ListenError(f"127.0.0.1:{port}: {error.strerror}: choose another port") from error
        taken = first.getsockname()[1]
        try:
            return [first, _bound(socket.AF_INET6, "::1", taken)]
        except OSError as error:
            if error.errno in NO_IPV6:
                return [first]
            first.close()
            if port or attempt == TRIES - 1:
                raise ListenError(f"[::1]:{taken}: {error.strerror}: choose another port") from error
    raise AssertionError("unreachable")


def everywhere(host: str, port: int) -> list[socket.socket]:
    """The sockets of one address; an empty host means every interface, over IPv4 and IPv6. Raises ListenError."""
    try:
        if host:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            return [_bound(family, host, port)]
        if socket.has_dualstack_ipv6():
            return [socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)]
        return [_bound(socket.AF_INET, "", port)]
    except OSError as error:
        raise ListenError(f"{host}:{port}: {error.strerror}: choose another address") from error


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    return socket.create_server((host, port), family=family, backlog=BACKLOG)
