"""The HTTPS server that the API server asks: a path for each webhook of each kind, and one for conversion."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any

import structlog
from aiohttp import web

from runner.config.watches import Watch
from runner.config.webhooks import CONVERT, path
from runner.errors import ReviewError
from runner.metrics import Metrics
from runner.objects import GroupVersionKind, ObjectKey
from runner.serve.admission import conversion
from runner.serve.admission.review import Review, Verdict, answer, parse
from runner.serve.admission.reviewer import Reviewer
from runner.serve.admission.tasks import LIMIT, PATIENCE
from runner.serve.certificates import ServingCertificate
from runner.serve.metrics import Listener

log = structlog.get_logger(__name__)

LARGEST = 8 * 1024 * 1024
"""Bytes of a review: object and old object, each of which etcd keeps far smaller."""
LARGEST_LIST = 64 * 1024 * 1024
"""Bytes of a conversion, which may be of a whole list."""
READ_WITHIN = 5.0
"""Seconds that a body may take to come."""
READ_AT_ONCE = 64
"""Bodies in memory."""
_WHAT = {"CREATE": "its creation", "UPDATE": "its change"}
Decides = Callable[[Watch, Review], Awaitable[Verdict]]


def webhooks(
    watches: Collection[Watch],
    reviewer: Reviewer,
    certificate: ServingCertificate,
    port: int,
    metrics: Metrics | None = None,
) -> Listener:
    """Listens on every interface; port 0 takes a free one."""
    application = web.Application(client_max_size=LARGEST)
    reading = asyncio.Semaphore(READ_AT_ONCE)
    for watch in watches:
        if watch.admission is None:
            continue
        if watch.admission.validates:
            handle = _Webhook(watch, "validate", reviewer.validate, reading, metrics).handle
            application.router.add_post(path("validate", watch.gvk), handle)
        if watch.admission.default:
            handle = _Webhook(watch, "default", reviewer.default, reading, metrics).handle
            application.router.add_post(path("mutate", watch.gvk), handle)
    if any(watch.conversions for watch in watches):
        application.router.add_post(CONVERT, _Converter(watches, reading, metrics).handle)
    return Listener(f":{port}", application, "--webhook-port", certificate.context, grace=PATIENCE + LIMIT)


class _Converter:
    """Converts, for all kinds."""

    def __init__(self, watches: Iterable[Watch], reading: asyncio.Semaphore, metrics: Metrics | None) -> None:
        self._watches = {(watch.gvk.group, watch.gvk.kind): watch for watch in watches if watch.conversions}
        self._reading = reading
        self._metrics = metrics

    async def handle(self, request: web.Request) -> web.Response:
        started = time.monotonic()
        async with self._reading:
            raw = await read(request.clone(client_max_size=LARGEST_LIST))
        try:
            converted = await asyncio.to_thread(conversion.answer, raw, self._watches)
        except ReviewError as error:
            raise web.HTTPBadRequest(text=f"{error}\n") from None
        self._note(converted["response"], time.monotonic() - started)
        return web.json_response(converted)

    def _note(self, response: Mapping[str, Any], seconds: float) -> None:
        """One kind is asked for at a time."""
        failed = response["result"]["status"] != "Success"
        if failed:
            message = response["result"]["message"]
            log.warning("not converted", message=message, said=f"Not converted to another version: {message}")
        for body in response.get("convertedObjects", ())[:1]:
            watch = self._watches[GroupVersionKind.of(body["apiVersion"], "").group, body["kind"]]
            if self._metrics is not None:
                self._metrics.reviewed(watch.gvk, "convert", "allowed", seconds)


class _Webhook:
    """One webhook of one kind."""

    def __init__(
        self, watch: Watch, name: str, decide: Decides, reading: asyncio.Semaphore, metrics: Metrics | None
    ) -> None:
        self._watch = watch
        self._name = name
        self._decide = decide
        self._reading = reading
        self._metrics = metrics

    async def handle(self, request: web.Request) -> web.Response:
        started = time.monotonic()
        async with self._reading:
            raw = await read(request)
        try:
            review = parse(raw)
        except ReviewError as error:
            self._count("malformed", started)
            raise web.HTTPBadRequest(text=f"{error}\n") from None
        del raw
        verdict = await self._decide(self._watch, review)
        self._count(verdict.result, started)
        if verdict.result == "denied":
            self._say(review, verdict.message)
        return web.json_response(answer(review.uid, verdict))

    def _say(self, review: Review, message: str) -> None:
        key, what = ObjectKey(self._watch.gvk, review.namespace, review.called), _WHAT[review.operation]
        about = {"kind": str(key.gvk), "namespace": key.namespace, "name": key.name, "by": self._name}
        log.info("refused", **about, message=message, said=f"{key}: {what} was refused: {message}")

    def _count(self, result: str, started: float) -> None:
        if self._metrics is not None:
            self._metrics.reviewed(self._watch.gvk, self._name, result, time.monotonic() - started)


async def read(request: web.Request) -> bytes:
    """The body; answers 413 for one that is too large, 408 for one that does not come."""
    try:
        async with asyncio.timeout(READ_WITHIN):
            return await request.read()
    except TimeoutError:
        raise web.HTTPRequestTimeout(text=f"the review did not come within {READ_WITHIN:g} s\n") from None
