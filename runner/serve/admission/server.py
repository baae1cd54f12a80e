"""The HTTPS server that the API server asks: a path for each webhook of each kind, and one for conversion."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import AsyncExitStack

import structlog
from aiohttp import web

from runner.config.watches import Watch
from runner.config.webhooks import CONVERT, path
from runner.errors import DeepReviewError, ReviewError
from runner.metrics import Metrics
from runner.objects import ObjectKey
from runner.serve.admission.bodies import DECODED, LARGEST, MIB, REVIEW_WAITS, Rooms, body, decoded_size, turn
from runner.serve.admission.converter import Converter
from runner.serve.admission.jsontext import decoded, find, value_at
from runner.serve.admission.review import Review, Verdict, answer, parse
from runner.serve.admission.reviewer import TOO_DEEP, Reviewer
from runner.serve.admission.tasks import LIMIT, PATIENCE
from runner.serve.certificates import ServingCertificate
from runner.serve.connections import Limits
from runner.serve.metrics import Listener

log = structlog.get_logger(__name__)

_WHAT = {"CREATE": "its creation", "UPDATE": "its change"}
Decides = Callable[[Watch, Review], Awaitable[Verdict]]


def webhooks(
    watches: Collection[Watch],
    reviewer: Reviewer,
    certificate: ServingCertificate,
    port: int,
    metrics: Metrics | None = None,
    host: str = "",
) -> Listener:
    """Listens on `host`, or on every interface where it is empty; port 0 takes a free one."""
    application = web.Application()
    rooms = Rooms()
    for watch in watches:
        if watch.admission is None:
            continue
        if watch.admission.validates:
            handle = _Webhook(watch, "validate", reviewer.validate, rooms, metrics).handle
            application.router.add_post(path("validate", watch.gvk), handle)
        if watch.admission.default:
            handle = _Webhook(watch, "default", reviewer.default, rooms, metrics).handle
            application.router.add_post(path("mutate", watch.gvk), handle)
    if any(watch.conversions for watch in watches):
        application.router.add_post(CONVERT, Converter(watches, rooms.bodies, metrics).handle)
    address, grace = f"{host}:{port}", PATIENCE + LIMIT
    return Listener(address, application, "--webhook-port", certificate.context, grace=grace, limits=Limits())


class _Webhook:
    """One webhook of one kind."""

    def __init__(self, watch: Watch, name: str, decide: Decides, rooms: Rooms, metrics: Metrics | None) -> None:
        self._watch = watch
        self._name = name
        self._decide = decide
        self._rooms = rooms
        self._metrics = metrics

    async def handle(self, request: web.Request) -> web.Response:
        started = time.monotonic()
        try:
            return await self._answer(request, started)
        except ReviewError as error:
            self._count("malformed", started)
            raise web.HTTPBadRequest(text=f"{error}\n") from None
        except web.HTTPTooManyRequests:
            self._count("busy", started)
            raise

    async def _answer(self, request: web.Request, started: float) -> web.Response:
        async with AsyncExitStack() as holding:
            async with body(request, self._rooms.bodies, LARGEST, REVIEW_WAITS) as text:
                size = decoded_size(text)
                if size > DECODED:
                    why = f"a review of it might take {size // MIB} MiB of memory, of {DECODED // MIB}"
                    return self._refused(text, f"the object has too many values: {why}", started)
                await holding.enter_async_context(turn(self._rooms.decoded, size, REVIEW_WAITS))
                try:
                    review = parse(bytes(text))
                except DeepReviewError:  # whatever the failure policy says, such an object is never let through
                    return self._refused(text, f"the object {TOO_DEEP}", started)
                text.clear()
            verdict = await self._decide(self._watch, review)
            self._count(verdict.result, started)
            if verdict.result == "denied":
                self._say(review, verdict.message)
            return web.json_response(answer(review.uid, verdict))

    def _refused(self, text: bytearray, why: str, started: float) -> web.Response:
        """Refuse an object without decoding it, unless its spec stays as it was.

        Raises ReviewError where it is no review.
        """
        try:
            uid = decoded(text, find(text, 0, "request", "uid"))
            unchanged = _keeps_spec(text)
        except (ValueError, RecursionError) as error:
            raise ReviewError(f"not JSON: {error}") from error
        if not isinstance(uid, str):
            raise ReviewError("the request has no uid")
        if unchanged:  # it was stored so: its finalizer has to be removable
            self._count("allowed", started)
            return web.json_response(answer(uid, Verdict()))
        kind = self._watch.gvk.kind
        log.info("refused", kind=str(self._watch.gvk), by=self._name, message=why, said=f"{kind}: {why}")
        self._count("denied", started)
        return web.json_response(answer(uid, Verdict("denied", why)))

    def _say(self, review: Review, message: str) -> None:
        key, what = ObjectKey(self._watch.gvk, review.namespace, review.called), _WHAT[review.operation]
        about = {"kind": str(key.gvk), "namespace": key.namespace, "name": key.name, "by": self._name}
        log.info("refused", **about, message=message, said=f"{key}: {what} was refused: {message}")

    def _count(self, result: str, started: float) -> None:
        if self._metrics is not None:
            self._metrics.reviewed(self._watch.gvk, self._name, result, time.monotonic() - started)


def _keeps_spec(text: bytearray) -> bool:
    """Compare the specs of object and old object as text: the API server writes equal values alike."""
    starts = [find(text, 0, "request", side, "spec") for side in ("object", "oldObject")]
    spans = [value_at(text, start) for start in starts if start is not None]
    return len(spans) == 2 and len({bytes(text[span.start : span.end]) for span in spans}) == 1
