"""The proxy on localhost that every API call of a role passes.

It lets in only the runs that are under way, makes what they create a dependent of their custom resource, learns
which changes are their own, and is the fence: what it refuses does not happen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import aiohttp
import structlog
from aiohttp import web

from runner.errors import BodyError, KubeError, ListenError, MediaTypeError, UnownedError
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.kube.impersonation import IMPERSONATE
from runner.metrics import Metrics
from runner.objects import GroupVersionKind, Owner
from runner.serve import checkmode, forward, ownership, protected
from runner.serve.dependents import Dependents, OnDependent, OwnWrites, items_of, written
from runner.serve.forward import STREAMS, Target, forwardable, is_upgrade, parse_target
from runner.serve.grants import Grant, Grants, MarkSource, Purpose, no_marks
from runner.serve.listen import loopback
from runner.serve.protected import Protection
from runner.serve.upgrade import upgrade

log = structlog.get_logger(__name__)

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
LOOKED_AT = 4 * 1024 * 1024
"""Answers up to this many bytes are looked into; etcd refuses objects far below it."""
SMALL = 64 * 1024
"""Bodies of a known length up to this many bytes pass in one piece: that is cheaper than a stream."""
HEADER_LINE = 1024 * 1024
LIST = b'"items":'
"""In the bytes of every list of whole objects, or of their metadata."""
THIRD = (
    "the operator's kubeconfig acts as somebody else (`as`), and Kubernetes lets nobody act as a third from "
    "there; to try what a run may impersonate, log in as that account: `ansible-operator dev kubeconfig --as`"
)
UNANSWERED = (KubeError, aiohttp.ClientError, OSError)


class Proxy:
    """Listens between `start` and `stop`. `port` 0 asks for a free one; afterwards `port` is the real one.

    `inject` off: owners are not put in and dependents not told of. `watched` may exclude owner kinds from both.
    `on_dependent` is called once per owner kind, dependent kind, mechanism and namespace; it must not block.
    Of runs for the kinds that `keeps_children` names, a grant keeps the objects of the run's own.
    Nothing passes while `leading` denies it, which is asked at each request.
    """

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        *,
        port: int,
        inject: bool = True,
        watched: Callable[[GroupVersionKind], bool] = lambda _: True,
        on_dependent: OnDependent = lambda *_: None,
        metrics: Metrics | None = None,
        leading: Callable[[], bool] = lambda: True,
        keeps_children: Callable[[GroupVersionKind], bool] = lambda _: True,
        marks: MarkSource = no_marks,
    ) -> None:
        self.port = port
        self.protection = Protection()
        self._leading = leading
        self._client = client
        self._dependents = Dependents(discovery, on_dependent, inject=inject, watched=watched)
        self._metrics = metrics
        self._comparing = checkmode.Comparing(client, discovery)
        self._own = OwnWrites()
        self._grants = Grants(lambda: self.port, keeps_children, self._own, marks)
        self._server: web.ServerRunner | None = None

    async def start(self) -> None:
        """Raises ListenError when the port is in use."""
        try:
            sockets = loopback(self.port)
        except ListenError as error:
            raise ListenError(f"{error} with --proxy-port") from error
        self.port = sockets[0].getsockname()[1]
        server = web.Server(
            self._serve,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            max_line_size=HEADER_LINE,
            max_field_size=HEADER_LINE,
        )
        self._server = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._server.setup()
        for listening in sockets:
            await web.SockSite(self._server, listening).start()

    async def stop(self) -> None:
        """Cut what is open and close the port."""
        self.refuse_all()
        if self._server is not None:
            await self._server.cleanup()

    def grant(self, owner: Owner, purpose: Purpose = Purpose.RUN) -> Grant:
        """A run's permission to pass, as a context manager; leaving it revokes. Only after `start`."""
        return self._grants.issue(owner, purpose)

    def own_write(self, uid: str, resource_version: str) -> bool:
        """Whether a run wrote this version through the proxy, or, with an empty version, deleted the object."""
        return self._own.has(uid, resource_version)

    async def settle(self, seconds: float = 1.0) -> None:
        """Wait for the answers of writes under way: a watch may show a change before `own_write` knows of it."""
        await self._own.settle(seconds)

    def refuse_all(self) -> None:
        """The fence: nothing passes any more, for good."""
        self._grants.refuse_all()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        grant = self._grants.find(request.headers.get("Authorization")) if self._leading() else None
        this = asyncio.current_task()
        if grant is None or this is None or request.transport is None:
            return forward.status_response(
                401,
                "Unauthorized",
                "this proxy serves only Ansible runs that are under way, with their own kubeconfig",
            )
        started = time.monotonic()
        with grant.passing(this, request.transport):
            response = await self._pass(request, grant)
        if grant.touched is not None:
            grant.touched.failed(request.method, request.raw_path, response.status)
        if self._metrics is not None:
            self._metrics.proxied(request.method, response.status, time.monotonic() - started)
        return response

    async def _pass(self, request: web.BaseRequest, grant: Grant) -> web.StreamResponse:
        if not forwardable(request.raw_path):
            return forward.status_response(
                400, "BadRequest", "the request must name a path, percent-encoded and without a fragment"
            )
        target = parse_target(request.raw_path)
        if refusal := self._refusal(request, target, grant) or self._protects(request, target):
            return forward.status_response(403, "Forbidden", refusal)
        if target is not None:
            grant.called(request.method, target)
        if grant.touched is not None and target is not None:
            grant.touched.asked(request.method, target)  # upgraded or not, whatever is read counts
        try:
            if is_upgrade(request.headers) and _may_upgrade(request.method, target):
                return await upgrade(self._client, request)
            return await self._forward(request, target, grant)
        except (BodyError, UnownedError) as error:
            return forward.status_response(*_status_of(error), str(error))
        except UNANSWERED as error:
            log.warning(
                "request of a run not answered", method=request.method, path=request.path, error=str(error)
            )
            return forward.status_response(502, "BadGateway", f"the API server cannot be reached: {error}")

    def _refusal(self, request: web.BaseRequest, target: Target | None, grant: Grant) -> str:
        """Why it may not pass, or ""."""
        if self._client.impersonates and any(name.lower().startswith(IMPERSONATE) for name in request.headers):
            return THIRD
        check = grant.dry_runs is not None
        if check or grant.reads_only:
            if forward.ambiguous(request.raw_path):
                return checkmode.AMBIGUOUS
            if checkmode.opens_stream(request.headers):
                return checkmode.REFUSAL if check else checkmode.READS_ONLY
        if check and checkmode.changes(request.method, target, has_body=request.body_exists):
            return checkmode.REFUSAL
        if grant.reads_only and not checkmode.reads(request.method, target):
            return checkmode.READS_ONLY
        return ""

    def _protects(self, request: web.BaseRequest, target: Target | None) -> str:
        """Why it may not pass, as it is about an object of the operator's own, or ""."""
        if target is None or not self.protection.objects:
            return ""
        upgrades = is_upgrade(request.headers)
        return protected.refusal(self.protection.objects, request.method, target, upgrades=upgrades)

    async def _forward(self, request: web.BaseRequest, target: Target | None, grant: Grant) -> web.StreamResponse:
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        headers = forward.request_headers(request.headers)
        on_write = grant.writes if grant.dry_runs is None else None
        marks = grant.marks if grant.dry_runs is None else None
        data = await self._dependents.outgoing(request, target, grant.owner, headers, on_write, marks)
        with self._noted(request.method):
            path = request.raw_path
            if self.protection.objects:
                path = protected.narrowed(self.protection.objects, request.method, path, target)
            opened = self._client.open(request.method, path, headers=headers, data=data)
            async with opened as upstream:
                return await self._answer(request, target, upstream, grant)

    def _noted(self, method: str) -> AbstractContextManager[None]:
        return self._own.under_way() if method in WRITES else nullcontext()

    async def _answer(
        self, request: web.BaseRequest, target: Target | None, upstream: aiohttp.ClientResponse, grant: Grant
    ) -> web.StreamResponse:
        lists = grant.keeps or grant.touched is not None
        if (
            target is not None
            and not grant.reads_only
            and _worth_a_look(request.method, target, upstream, lists=lists)
        ):
            body, complete = await forward.read_up_to(upstream.content, LOOKED_AT)
            if not complete:
                return await forward.stream_response(request, upstream, body)
            await self._look(request.method, target, body, grant)
            return forward.whole_response(upstream, body)
        if (
            grant.dry_runs is not None
            and target is not None
            and checkmode.compared(request.method, target)
            and upstream.ok
        ):
            body = await upstream.read()
            await self._comparing.note(
                grant.dry_runs, request.method, request.raw_path, target, status=upstream.status, raw=body
            )
            return forward.whole_response(upstream, body)
        if request.method != "HEAD" and upstream.content_length is not None and upstream.content_length <= SMALL:
            return forward.whole_response(upstream, await upstream.read())
        return await forward.stream_response(request, upstream)

    async def _look(self, method: str, target: Target, raw: bytes, grant: Grant) -> None:
        """Learn from an answer: own writes, and dependents that are there already."""
        write = method in WRITES
        if not write and not self._dependents.might_be(raw):
            if grant.touched is not None and not target.name and LIST in raw:
                grant.touched.shown(method, target, None)
            return
        body = forward.parsed(raw)
        if grant.touched is not None and not target.name:
            grant.touched.shown(method, target, body if isinstance(body, dict) else {})
        if method == "GET" and not target.name:
            await self._look_at_list(body, target, len(raw), grant)
            return
        if write:
            for uid, version in written(method, body):
                self._own.add(uid, version)
            if grant.touched is not None:
                grant.touched.wrote(method, target, body)
        grant.saw(method, body, len(raw))
        if isinstance(body, dict) and method != "DELETE":
            await self._recognise(body, target, grant)

    async def _look_at_list(self, body: object, target: Target, size: int, grant: Grant) -> None:
        """The run has read its own objects, among others."""
        items = items_of(body)
        own = [item for item in items if ownership.named_by(item, grant.owner) is not None]
        for item in own:
            grant.saw("GET", item, size // len(items))
        for item in own if grant.touched is not None else own[:1]:
            await self._recognise(item, target, grant)

    async def _recognise(self, body: dict[str, Any], target: Target, grant: Grant) -> None:
        found = await self._dependents.recognise(body, target, grant.owner)
        if found is not None and grant.dry_runs is None and ownership.names(body, grant.owner):
            await grant.writes(*found)


def _status_of(error: BodyError | UnownedError) -> tuple[int, str]:
    match error:
        case MediaTypeError():
            return 415, "UnsupportedMediaType"
        case BodyError():
            return 400, "BadRequest"
        case _:
            return 503, "ServiceUnavailable"


def _may_upgrade(method: str, target: Target | None) -> bool:
    """Not a write to an object: the API server performs it, upgrade or not, and nobody would look at it."""
    return method not in WRITES or target is None or target.subresource in STREAMS


def _worth_a_look(method: str, target: Target, upstream: aiohttp.ClientResponse, *, lists: bool) -> bool:
    """A successful write that was meant, or the read of one object; of a list where somebody wants to know."""
    if target.watch or target.dry_run or target.subresource in STREAMS or not upstream.ok:
        return False
    return forward.is_json(upstream.headers) and (
        method in WRITES or (method == "GET" and (lists or target.name != ""))
    )
