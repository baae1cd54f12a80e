"""Answers conversions over HTTP: in turn, piece by piece, within a time.

Of all lists that are converted at a time one object is decoded, and an answer is sent while it is made.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator

import structlog
from aiohttp import web

from runner.config.watches import Watch
from runner.errors import ReviewError
from runner.metrics import Metrics
from runner.objects import ObjectKey
from runner.serve.admission import conversionreview
from runner.serve.admission.bodies import CONVERSION_WAITS, LARGEST_LIST, body
from runner.serve.admission.conversionreview import Answered
from runner.serve.metrics import Memory
from runner.serve.room import Room

log = structlog.get_logger(__name__)

WITHIN = 29.0
"""Seconds for a whole conversion; the API server waits 30."""
PIECE = 256 * 1024
"""Bytes of objects that are converted in one go; other conversions have a turn between two pieces."""
LOGGED_AGAIN = 3600.0
"""Seconds until an object that cannot be converted is logged again."""
LOG_PAUSE = 10.0
"""Seconds between two lines about objects that cannot be converted."""


class Converter:
    """Converts, for all kinds."""

    def __init__(self, watches: Iterable[Watch], bodies: Room, metrics: Metrics | None) -> None:
        self._watches = {(watch.gvk.group, watch.gvk.kind): watch for watch in watches if watch.conversions}
        self._bodies = bodies
        self._metrics = metrics
        self._turn = asyncio.Semaphore(1)
        self._unconverted = _Unconverted()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        started = time.monotonic()
        async with (
            asyncio.timeout(WITHIN),
            body(request, self._bodies, LARGEST_LIST, CONVERSION_WAITS) as text,
        ):
            try:
                review = conversionreview.parse(text)
            except ReviewError as error:
                raise web.HTTPBadRequest(text=f"{error}\n") from None
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            objects = conversionreview.converted(review, self._watches)
            answer = _Answer(response, conversionreview.opening(review))
            failure = await self._write(answer, objects)
            await answer.end(conversionreview.closing(failure))
        self._note(answer, failure, time.monotonic() - started)
        return response

    async def _write(self, answer: _Answer, objects: Iterator[Answered]) -> str:
        """Write all objects; returns why they cannot be converted ("" if they can)."""
        while True:
            try:
                async with self._turn:
                    piece = await asyncio.to_thread(_piece, objects)
            except ReviewError as error:
                return str(error)
            if not piece:
                return ""
            await answer.add(piece)

    def _note(self, answer: _Answer, failure: str, seconds: float) -> None:
        """All objects of a request are of one kind."""
        if failure:
            log.warning("not converted", message=failure, said=f"Not converted to another version: {failure}")
        for key, why in answer.unconverted:
            self._unconverted.log(key, why)
        if self._metrics is not None and answer.first is not None:
            watch = self._watches[answer.first.gvk.group, answer.first.gvk.kind]
            result = "failed" if failure else "unconverted" if answer.unconverted else "allowed"
            self._metrics.reviewed(watch.gvk, "convert", result, seconds)


class _Answer:
    """An answer under way: small ones are sent at once, of large ones a piece is kept."""

    def __init__(self, response: web.StreamResponse, opening: bytes) -> None:
        self.first: ObjectKey | None = None
        self.unconverted: list[tuple[ObjectKey, str]] = []
        self._response = response
        self._text = bytearray(opening)

    async def add(self, piece: list[Answered]) -> None:
        for one in piece:
            self._text += (b", " if self.first else b"") + one.text
            self.first = self.first or one.key
            if one.why and len(self.unconverted) < _Unconverted.MOST:
                self.unconverted.append((one.key, one.why))
        if len(self._text) >= PIECE:
            await self._response.write(bytes(self._text))
            self._text.clear()

    async def end(self, closing: bytes) -> None:
        await self._response.write(bytes(self._text) + closing)


class _Unconverted:
    """Logs objects whose specs cannot be converted: each once in an hour, and few lines of many."""

    MOST = 100

    def __init__(self) -> None:
        self._logged: Memory[bool] = Memory(time.monotonic)
        self._next = 0.0
        self._others = 0

    def log(self, key: ObjectKey, why: str) -> None:
        """Log the object, if it is time to."""
        if self._logged.get(key):
            return
        self._logged.put(key, True, LOGGED_AGAIN)
        if time.monotonic() < self._next:
            self._others += 1
            return
        more = f" (and {self._others} others since the last such line)" if self._others else ""
        self._next, self._others = time.monotonic() + LOG_PAUSE, 0
        about = {"kind": str(key.gvk), "namespace": key.namespace, "name": key.name}
        said = f"{key}: its spec is served unconverted in another version: {why}{more}"
        log.warning("a spec could not be converted", **about, why=why, said=said)


def _piece(objects: Iterator[Answered]) -> list[Answered]:
    """The next objects, up to PIECE bytes; none at the end. Raises ReviewError."""
    piece: list[Answered] = []
    size = 0
    for one in objects:
        piece.append(one)
        size += len(one.text)
        if size >= PIECE:
            break
    return piece
