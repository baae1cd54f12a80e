"""The credentials in use, read in threads of their own, and the proxy that the environment names."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDict
from yarl import URL

from runner.config.settings import NOTHING_GIVEN, ClusterSettings
from runner.errors import CredentialsError
from runner.kube.clock import REAL, Clock
from runner.kube.credentials import Credentials, Login
from runner.kube.impersonation import IMPERSONATE, Headers

T = TypeVar("T")
Address = tuple[Any, Any, int, str, Any]
"""As `getaddrinfo` has them: family, kind, protocol, canonical name, socket address."""


log = structlog.get_logger(__name__)
AGENT = "ansible-operator"
FORCED_APART = 5.0
"""Least seconds between two readings, however many requests are refused."""
READ_SECONDS = 30.0
"""After so long a reading is given up: plugins may have to ask somebody far away."""
GRACE = 1.0
"""Seconds that requests wait for a reading while the old credentials are as good as new ones."""
AT_ONCE = 3
"""Most readings that may hang; there is no way to end a thread."""


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


def proxy_for(url: URL, cluster: ClusterSettings) -> str | None:
    """The proxy to reach `url` through: that of its scheme, unless `no_proxy` exempts it.

    Loopback is always exempt. Raises CredentialsError for a proxy that is not an HTTP one.
    """
    proxy = cluster.https_proxy if url.scheme == "https" else cluster.http_proxy
    host = url.host or ""
    if not proxy or _loopback(host) or _exempt(host, url.port, cluster.no_proxy):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if URL(proxy).scheme not in ("http", "https"):
        raise CredentialsError(
            f"{url.scheme.upper()}_PROXY names a {URL(proxy).scheme} proxy: only http and https ones are served; "
            f"if {host} can be reached without it, add it to NO_PROXY"
        )
    return proxy


def _loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _exempt(host: str, port: int | None, no_proxy: str) -> bool:
    return any(_matches(entry.strip().lower(), host.lower(), port) for entry in no_proxy.split(","))


def _matches(entry: str, host: str, port: int | None) -> bool:
    """An entry: `*`, a range of addresses, or an address or domain (with its subdomains), perhaps with a port."""
    if entry in ("", "*"):
        return entry == "*"
    address = _address(host)
    if address is not None and "/" in entry:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _, wanted = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if wanted and wanted != str(port):
        return False
    if address is not None:
        return _address(name.strip("[]")) == address
    suffix = name.removeprefix("*").removeprefix(".")
    subdomain = host.endswith(f".{suffix}")
    return subdomain or (host == suffix and not name.startswith((".", "*")))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What one request needs to get in. `headers` holds secrets; `impersonate` says whom to act as.

    `namespace` is where objects are meant to be if nothing is said, empty where that is left open, too.
    """

    url: URL
    headers: dict[str, str] = field(repr=False)
    tls: ssl.SSLContext | None
    server_name: str | None
    proxy: str | None = field(repr=False)
    impersonate: Headers = ()
    namespace: str = ""

    def authorized(self, given: Mapping[str, str]) -> CIMultiDict[str]:
        """What was given, repeated ones kept (`Impersonate-Group`), and the credentials in place of any other.

        Whom the credentials act as nobody else can say.
        """
        headers: CIMultiDict[str] = CIMultiDict()
        spelled: dict[str, str] = {}
        for name, value in given.items():
            if self.impersonate and name.lower().startswith(IMPERSONATE):
                continue
            # aiohttp keeps repeated ones of one spelling only
            headers.add(spelled.setdefault(name.lower(), name), value)
        headers.setdefault("User-Agent", AGENT)
        for name, value in self.headers.items():
            headers[name] = value
        for name, value in self.impersonate:
            headers.add(name, value)
        return headers


class Connection:
    """Hands out the current `Endpoint`."""

    def __init__(self, login: Login, clock: Clock = REAL, cluster: ClusterSettings = NOTHING_GIVEN) -> None:
        self._login = login
        self._clock = clock
        self._cluster = cluster
        self._under_way = threading.BoundedSemaphore(AT_ONCE)
        self._reading: asyncio.Task[None] | None = None
        self._credentials: Credentials | None = None
        self._endpoint: Endpoint | None = None
        self._doubted = False
        self._tried_at = 0.0
        self._fresh_until = 0.0
        self._good_until = 0.0

    @property
    def who(self) -> dict[str, str]:
        """The context and the user of the credentials, as far as they are known."""
        found = self._credentials
        return {"context": found.context, "user": found.user} if found else {}

    async def current(self) -> Endpoint:
        """The endpoint to use now. Raises CredentialsError only if there never was one that worked."""
        now = self._clock.now()
        if self._endpoint is None or (now >= self._fresh_until and self._may_read()):
            known_bad = self._endpoint is None or now >= self._good_until
            await self._read_again(None if known_bad else GRACE)
        assert self._endpoint is not None  # noqa: S101  (for the type checker: the reading sets it or raises)
        return self._endpoint

    @property
    def impersonates(self) -> bool:
        """Whether the credentials in use act as somebody else."""
        return self._endpoint is not None and self._endpoint.impersonate != ()

    async def refused(self, used: Endpoint) -> bool:
        """Whether there is another endpoint to try than the one that was refused."""
        if self._endpoint is used and self._may_read():
            self._doubted = True
            await self._read_again(None)
        return self._endpoint is not None and self._endpoint is not used

    def _may_read(self) -> bool:
        busy = self._reading is not None and not self._reading.done()
        return busy or self._clock.now() - self._tried_at >= FORCED_APART

    async def _read_again(self, patience: float | None) -> None:
        """Wait for the one reading that all share, with `patience` (seconds) only since its beginning."""
        if self._reading is None or self._reading.done():
            self._tried_at = self._clock.now()
            self._reading = asyncio.create_task(self._read())
        elapsed = self._clock.now() - self._tried_at
        await asyncio.wait({self._reading}, timeout=None if patience is None else max(0.0, patience - elapsed))
        if self._reading.done():
            self._reading.result()

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                credentials, found = await in_own_thread(self._look)
        except (CredentialsError, OSError) as error:  # TimeoutError is an OSError
            text = str(error) or f"they could not be read within {READ_SECONDS:g} s: does a disk or a plugin hang?"
            if self._endpoint is None:
                raise CredentialsError(text) from None
            log.warning("credentials could not be read again, the old ones stay in use", error=text)
            return
        self._endpoint, self._credentials, self._doubted = found, credentials, False
        self._fresh_until = self._tried_at + credentials.fresh_for
        self._good_until = self._tried_at + credentials.good_for

    def _look(self) -> tuple[Credentials, Endpoint]:
        """In a thread, as all of it may read files. Raises CredentialsError, OSError."""
        if not self._under_way.acquire(blocking=False):
            raise CredentialsError(f"{AT_ONCE} earlier attempts to read them still hang: does a disk or a plugin?")
        try:
            found = self._login()
            unchanged = None if self._changed(found) else self._endpoint
            return found, unchanged or _endpoint(found, self._cluster)
        finally:
            self._under_way.release()

    def _changed(self, found: Credentials) -> bool:
        info, before = found.info, self._credentials
        if before is None or (before.info, before.impersonate) != (info, found.impersonate):
            return True
        # The path is the same, but the file behind it may not be: worth one new TLS context after a refusal.
        return self._doubted and bool(info.ca_path or info.certificate_path)


def _endpoint(found: Credentials, cluster: ClusterSettings) -> Endpoint:
    info = found.info
    url = URL(info.server)
    if url.scheme not in ("http", "https") or not url.host:
        raise CredentialsError(f"the API server's address {info.server!r} must begin with https:// or http://")
    return Endpoint(
        url=url,
        headers=info.as_http_headers(),
        tls=_tls(found) if url.scheme == "https" else None,
        server_name=found.server_name or None,
        proxy=info.proxy_url or proxy_for(url, cluster),
        impersonate=found.impersonate,
        namespace=info.default_namespace or "",
    )


def _tls(found: Credentials) -> ssl.SSLContext:
    try:
        return found.info.as_ssl_context()  # writes client key data to 0600 files, removed before it returns
    except (ValueError, OSError) as error:  # SSLError is an OSError
        raise CredentialsError(
            f"the certificates for {found.info.server} cannot be used ({type(error).__name__}): check the "
            "certificate-authority, client-certificate and client-key of the kubeconfig"
        ) from None
