"""A stand-in for the API server and a bare client for it, to test what listens in front of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import kopf
import yaml
from aiohttp import web

from runner.kube.client import Client
from runner.kube.credentials import Credentials
from runner.kube.discovery import Discovery, Resource
from runner.objects import GroupVersionKind, Owner
from runner.serve.grants import Grant, basic
from runner.serve.ownership import Mechanism
from runner.serve.proxy import Proxy

FULL = frozenset({"get", "list", "watch", "create", "delete", "patch", "update"})
OWNER = Owner(GroupVersionKind("app.example.com", "v1", "Database"), "shop", "orders", "uid-orders")
Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def resource(gvk: GroupVersionKind, *, namespaced: bool = True, verbs: frozenset[str] = FULL) -> Resource:
    return Resource(gvk, f"{gvk.kind.lower()}s", namespaced, verbs, frozenset())


KINDS: dict[tuple[str, str, str], Resource] = {
    ("", "v1", "configmaps"): resource(GroupVersionKind("", "v1", "ConfigMap")),
    ("", "v1", "namespaces"): resource(GroupVersionKind("", "v1", "Namespace"), namespaced=False),
    ("authorization.k8s.io", "v1", "subjectaccessreviews"): resource(
        GroupVersionKind("authorization.k8s.io", "v1", "SubjectAccessReview"),
        namespaced=False,
        verbs=frozenset({"create"}),
    ),
}


class FakeDiscovery(Discovery):
    """Knows a few kinds, and may be made to fail or to wait."""

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
    client: Client
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
    info = kopf.ConnectionInfo(server=f"http://127.0.0.1:{server.addresses[0][1]}", token="operator")
    client = await Client.connect(login=lambda: Credentials(info))
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
