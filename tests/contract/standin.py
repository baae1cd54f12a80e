"""A stand-in for the API server and a bare client for it, to test what listens in front of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import yaml
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from runner.objects import GroupVersionKind, Owner
from runner.serve.grants import Grant
from runner.serve.kubeconfig import basic
from runner.serve.ownership import Mechanism
from runner.serve.proxy import Proxy
from runner.serve.upstream import Resource

FULL = frozenset({"get", "list", "watch", "create", "delete", "patch", "update"})
OWNER = Owner(GroupVersionKind("app.example.com", "v1", "Database"), "shop", "orders", "uid-orders")
Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class FakeResource:
    gvk: GroupVersionKind
    namespaced: bool = True
    verbs: frozenset[str] = FULL


KINDS: dict[tuple[str, str, str], Resource] = {
    ("", "v1", "configmaps"): FakeResource(GroupVersionKind("", "v1", "ConfigMap")),
    ("", "v1", "namespaces"): FakeResource(GroupVersionKind("", "v1", "Namespace"), namespaced=False),
    ("authorization.k8s.io", "v1", "subjectaccessreviews"): FakeResource(
        GroupVersionKind("authorization.k8s.io", "v1", "SubjectAccessReview"), False, frozenset({"create"})
    ),
}


class FakeDiscovery:
    def __init__(self) -> None:
        self.error: Exception | None = None
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def by_plural(self, group: str, version: str, plural: str) -> Resource | None:
        self.asked.set()
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return KINDS.get((group, version, plural))


class BareClient:
    """The few methods the proxy needs, without retries and without credentials but a fixed one."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._session = aiohttp.ClientSession(
            auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None, sock_connect=5)
        )

    def open(
        self, method: str, path_and_query: str, *, headers: Mapping[str, str], data: Any
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self._session.request(
            method,
            URL(self.base_url + path_and_query, encoded=True),
            headers=CIMultiDict([*headers.items(), ("Authorization", "Bearer operator")]),
            data=data,
            allow_redirects=False,
        )

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        url = URL(self.base_url)
        return await asyncio.open_connection(url.host, url.port)

    async def auth_headers(self) -> dict[str, str]:
        return {"Authorization": "Bearer operator"}

    async def close(self) -> None:
        await self._session.close()


@dataclass(frozen=True)
class Reply:
    """An answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    reason: str


@dataclass
class Bench:
    """A proxy in front of a scripted API server. `answer` may be replaced; `told` is what on_dependent was."""

    proxy: Proxy
    client: BareClient
    session: aiohttp.ClientSession
    discovery: FakeDiscovery
    told: list[tuple[str, Mechanism, str]] = field(default_factory=list)
    answer: Answer | None = None
    seen: list[web.BaseRequest] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.proxy.port}"

    def headers(self, grant: Grant) -> dict[str, str]:
        """What a Python client sends that loaded the grant's kubeconfig."""
        user = yaml.safe_load(grant.kubeconfig)["users"][0]["user"]
        return {"Authorization": f"Basic {basic(user['username'], user['password'])}"}

    async def ask(self, method: str, path: str, grant: Grant | None = None, **options: Any) -> Reply:
        """One whole request; with a grant, as its run would send it."""
        headers = {**(self.headers(grant) if grant else {}), **options.pop("headers", {})}
        async with self.session.request(method, self.url + path, headers=headers, **options) as answer:
            return Reply(answer.status, answer.headers, await answer.read(), answer.reason or "")

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        self.seen.append(request)
        if self.answer is not None:
            return await self.answer(request)
        self.bodies.append(await request.read())
        return web.json_response({"kind": "ConfigMap", "metadata": {"uid": "u1", "resourceVersion": "7"}})


@asynccontextmanager
async def bench(**options: Any) -> AsyncIterator[Bench]:
    """Everything on real sockets of 127.0.0.1, taken down in order."""
    holder: list[Bench] = []

    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        return await holder[0].serve(request)

    scripted = web.Server(serve, auto_decompress=False, handler_cancellation=True)
    server = web.ServerRunner(scripted, shutdown_timeout=0.1)
    await server.setup()
    site = web.TCPSite(server, "127.0.0.1", 0)
    await site.start()
    client = BareClient(f"http://127.0.0.1:{server.addresses[0][1]}")
    discovery = FakeDiscovery()
    told: list[tuple[str, Mechanism, str]] = []
    proxy = Proxy(
        client,
        discovery,
        port=0,
        on_dependent=lambda _, gvk, mechanism, namespace: told.append((gvk.kind, mechanism, namespace)),
        **options,
    )
    await proxy.start()
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        holder.append(Bench(proxy, client, session, discovery, told))
        yield holder[0]
    await proxy.stop()
    await client.close()
    await server.cleanup()
