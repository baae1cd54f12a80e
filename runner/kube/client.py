"""The only caller of the API server: one pool of connections, credentials, retries, and errors as one tree."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self, TypedDict, Unpack

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from runner.config.settings import NOTHING_GIVEN, ClusterSettings
from runner.errors import ApiError, UnreachableError
from runner.kube.answers import answered, error_of
from runner.kube.clock import REAL, Backoff, Clock
from runner.kube.connection import AGENT, Connection, Endpoint, Resolver
from runner.kube.credentials import Login, find_login
from runner.kube.sockets import Fence, Sockets, connected

TRIES = 3
LONGEST_RETRY_AFTER = 10.0
CONNECT_SECONDS = 10.0
REQUEST_SECONDS = 60.0
NO_ANSWER = (aiohttp.ClientError, OSError, TimeoutError)
Json = Any
"""What JSON decodes to."""
OnRequest = Callable[[str, str, str], None]
"""Told method, host and status of each request that the operator makes for itself."""
NO_CODE = "<error>"
"""client-go's word for a request without an answer."""

CLOSING = 1.0
"""Seconds that open connections get to end in good order when the client is closed."""


class Options(TypedDict, total=False):
    """Of `Client.request`. `timeout` is for the whole answer, in seconds; `tries` counts the first one.

    An answer that is nested too deeply loses what is below, or, if `whole` is asked for, is a NestedError.
    """

    params: Mapping[str, str] | None
    body: object
    content_type: str
    accept: str
    timeout: float | None
    tries: int
    whole: bool


class OpenOptions(TypedDict, total=False):
    """Of `Client.open`. `own` says that the operator asks for itself, not for a run."""

    headers: Mapping[str, str] | None
    data: Any
    timeout: aiohttp.ClientTimeout | None
    own: bool


@dataclass(frozen=True, slots=True)
class _Call:
    """One HTTP request before the credentials are added."""

    method: str
    url: URL
    headers: Mapping[str, str]
    data: Any
    timeout: aiohttp.ClientTimeout
    raw: bool = False
    own: bool = True


class Client:
    """Talks to one API server as one account. Every call raises LeadershipLostError once its fence is shut."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        connection: Connection,
        base: URL,
        clock: Clock,
        fence: Fence,
        on_request: OnRequest = lambda _method, _host, _code: None,
    ) -> None:
        self._session = session
        self._connection = connection
        self._base = base
        self._clock = clock
        self._fence = fence
        self._on_request = on_request
        self._host = base.host_port_subcomponent or ""
        self._sockets = Sockets(fence)

    @classmethod
    async def connect(
        cls,
        cluster: ClusterSettings = NOTHING_GIVEN,
        *,
        login: Login | None = None,
        clock: Clock = REAL,
        fence: Fence | None = None,
        on_request: OnRequest = lambda _method, _host, _code: None,
    ) -> Self:
        """Finds the credentials (see `find_login`) without calling the server. Raises CredentialsError."""
        fence = fence or Fence()
        if login is None:
            login = await asyncio.to_thread(find_login, cluster)
        connection = Connection(login, clock, cluster)
        base = (await connection.current()).url
        # No limit: each watch and each stream of the proxy holds a connection for as long as it lasts.
        sockets = Sockets(fence)
        connector = aiohttp.TCPConnector(limit=0, socket_factory=sockets.make, resolver=Resolver())
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        client = cls(session, connection, base, clock, fence, on_request)
        client._sockets = sockets
        return client

    async def close(self) -> None:
        await self._session.close()
        await self._sockets.closed(CLOSING)

    @property
    def base_url(self) -> str:
        """The server's address without a slash at the end."""
        return str(self._base).rstrip("/")

    @property
    def impersonates(self) -> bool:
        """Whether it acts as somebody else than it logs in as."""
        return self._connection.impersonates

    async def namespace(self) -> str:
        """Where objects are meant to be if nothing is said: the kubeconfig's, the pod's, or `default`."""
        return (await self._connection.current()).namespace or "default"

    async def authorized(self, headers: Mapping[str, str]) -> CIMultiDict[str]:
        """These headers with the credentials; secret. A token that rotates is read again when it is due."""
        return (await self._connection.current()).authorized(headers)

    @property
    def identity(self) -> dict[str, str]:
        """For people: `server`, `context` and `user`."""
        return {"server": self.base_url, **self._connection.who}

    async def request(self, method: str, path: str, **options: Unpack[Options]) -> Json:
        """The decoded JSON of the answer.

        Raises the ApiError that fits, or UnreachableError. GETs are tried again (`tries`, in all) after a
        transient error; anything is tried again once after a 401 if other credentials are found.
        """
        tries = options.get("tries", TRIES) if method == "GET" else 1
        backoff = Backoff(0.2, 2.0, self._clock)
        while True:
            try:
                return await self._request_once(method, path, options)
            except (UnreachableError, ApiError) as error:
                wait = _wait_before_retry(error, backoff.next())
                if wait is None or backoff.failures >= tries:
                    raise
            await self._clock.sleep(wait)

    async def _request_once(self, method: str, path: str, options: Options) -> Json:
        url = URL(self.base_url + path, encoded=True).extend_query(options.get("params") or {})
        headers = {"Accept": options.get("accept", "application/json")}
        data = None
        if "body" in options:
            data = json.dumps(options["body"]).encode()
            headers["Content-Type"] = options.get("content_type", "application/json")
            url = url.update_query(fieldManager=AGENT)
        limit = options.get("timeout") or REQUEST_SECONDS
        timeout = aiohttp.ClientTimeout(total=limit, sock_connect=CONNECT_SECONDS)
        async with self._send(_Call(method, url, headers, data, timeout)) as answer:
            try:
                body = await answer.read()
            except NO_ANSWER as error:
                raise unreachable(error, self._base) from None
        if answer.status >= 300:
            raise error_of(answer.status, body, answer.headers.get("Retry-After"))
        return answered(body, self._host, whole=options.get("whole", False))

    @asynccontextmanager
    async def open(
        self, method: str, path_and_query: str | URL, **options: Unpack[OpenOptions]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer as it comes, whatever its status: not decompressed, not followed, not mapped to errors.

        Adds the credentials. Raises UnreachableError if there is no answer; reading it may raise aiohttp's
        own errors (`unreachable` turns them into ours). A str is taken as already percent-encoded.
        """
        url = URL(self.base_url + str(path_and_query), encoded=True)
        timeout = options.get("timeout") or aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
        headers, data, own = options.get("headers") or {}, options.get("data"), options.get("own", False)
        call = _Call(method, url, headers, data, timeout, raw=True, own=own)
        async with self._send(call) as answer:
            yield answer

    @asynccontextmanager
    async def stream(self, path: str, *, accept: str, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """A GET that was granted, as chunks of any size, for as long as it lasts.

        Raises ApiError if it is refused, and UnreachableError, also while reading: when the line is cut or
        nothing has come for `silence` seconds.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=silence)
        async with self.open("GET", path, headers={"Accept": accept}, timeout=timeout, own=True) as answer:
            chunks = self._chunks(answer)
            async with aclosing(chunks):
                if answer.status != 200:
                    body = b"".join([chunk async for chunk in chunks])
                    raise error_of(answer.status, body, answer.headers.get("Retry-After"))
                yield chunks

    async def _chunks(self, answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in answer.content.iter_any():
                yield chunk
        except NO_ANSWER as error:
            raise unreachable(error, self._base) from None

    @asynccontextmanager
    async def _send(self, call: _Call) -> AsyncIterator[aiohttp.ClientResponse]:
        endpoint = await self._connection.current()
        answer = await self._answer(call, endpoint)
        repeatable = call.data is None or isinstance(call.data, bytes)
        if answer.status == 401 and repeatable and await self._connection.refused(endpoint):
            answer.release()
            answer = await self._answer(call, await self._connection.current())
        async with answer:
            yield answer

    async def _answer(self, call: _Call, endpoint: Endpoint) -> aiohttp.ClientResponse:
        self._fence.check()
        try:
            answer = await self._session.request(
                call.method,
                call.url,
                headers=endpoint.authorized(call.headers),
                data=call.data,
                timeout=call.timeout,
                ssl=endpoint.tls or True,
                server_hostname=endpoint.server_name,
                proxy=endpoint.proxy,
                allow_redirects=False,
                auto_decompress=not call.raw,
                skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type") if call.raw else (),
            )
        except NO_ANSWER as error:
            self._fence.check()
            self._count(call, NO_CODE)
            if isinstance(error, aiohttp.ClientSSLError):
                await self._connection.refused(endpoint)  # perhaps the server's CA was changed
            raise unreachable(error, self._base) from None
        self._count(call, str(answer.status))
        return answer

    def _count(self, call: _Call, code: str) -> None:
        if call.own:
            self._on_request(call.method, self._host, code)

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A raw connection (TLS where the server's address says so) for upgrades; close the writer.

        Raises UnreachableError.
        """
        endpoint = await self._connection.current()
        self._fence.check()
        if endpoint.proxy:
            raise UnreachableError("upgraded connections (exec, attach, port-forward) cannot pass a proxy")
        name = (endpoint.server_name or self._base.host) if endpoint.tls else None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(
                    sock=await connected(self._base.host or "", self._base.port or 0, self._fence),
                    ssl=endpoint.tls,
                    server_hostname=name,
                )
        except (OSError, TimeoutError) as error:
            raise unreachable(error, self._base) from None


def unreachable(error: BaseException, base: URL | str) -> UnreachableError:
    """Our error for one of aiohttp's or the system's, free of secrets: addresses, never headers."""
    url = URL(base)
    if isinstance(error, aiohttp.ClientSSLError):
        return UnreachableError(f"no TLS connection to the API server: {error}")
    why = getattr(error, "strerror", None) or type(error).__name__
    return UnreachableError(f"no answer from the API server at {url.host}:{url.port}: {why}")


def _wait_before_retry(error: UnreachableError | ApiError, backoff: float) -> float | None:
    """Seconds, or None if trying again would not help."""
    asked = (error.retry_after or 0.0) if isinstance(error, ApiError) else 0.0
    return max(backoff, asked) if error.transient and asked <= LONGEST_RETRY_AFTER else None
