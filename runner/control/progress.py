"""What a run that takes long is doing, for whoever looks at the custom resource: since when, and in which task.

A write of it races with nothing: each names the resourceVersion that it was made from, so that one which is late
is refused, and the final status is written on top of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC
from typing import Any

import structlog

from runner.control.attempt import Attempt, UnderWay
from runner.control.publish import Writer
from runner.control.status import PROGRESS, running_still
from runner.errors import ConflictError, OperatorError
from runner.execute.failure import place_of
from runner.kube.clock import Clock
from runner.kube.discovery import ObjectsApi

EVERY = 60.0
"""Seconds from the start of a run until it is told of first, and between two writes."""
_LONGEST_NAME = 120
log = structlog.get_logger(__name__)


def message(seconds: float, run: UnderWay) -> str:
    """For condition Running."""
    since = run.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{PROGRESS}{_spoken(seconds)}, since {since}: {current(run.task)}"


def current(task: Mapping[str, Any]) -> str:
    """The task that has started last: its name and its file:line."""
    name = " ".join(str(task.get("task") or task.get("name") or "").split())
    if not name:
        return "no task has started yet"
    name = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
    where = place_of(task)
    return f'task "{name}"' + (f" ({where})" if where else "")


def _spoken(seconds: float) -> str:
    """Below two minutes to the second, as a deadline may be short; else whole minutes, and hours."""
    minutes = int(seconds // 60)
    if seconds < 60 or (minutes < 2 and seconds % 60 >= 1):
        return f"{seconds:.3g} s"
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


class Progress:
    """Writes how far runs are, `every` so many seconds at most; not at once, as most runs are short."""

    def __init__(self, objects: ObjectsApi, writer: Writer, clock: Clock, every: float = EVERY) -> None:
        self._objects = objects
        self._writer = writer
        self._clock = clock
        self.every = every

    def tell(self, attempt: Attempt, run: UnderWay) -> None:
        """From now on, until `run.ended()`."""
        run.telling = asyncio.create_task(self._keep_telling(attempt, run), name=f"progress {attempt.key}")

    async def _keep_telling(self, attempt: Attempt, run: UnderWay) -> None:
        while True:
            try:
                await self._write(attempt, run)
            except OperatorError as error:  # the next one may be written, and the final status will be
                log.debug("the progress of a run was not written", key=str(attempt.key), error=str(error))
            except Exception:
                log.exception("the progress of a run could not be written", key=str(attempt.key))
            await self._clock.sleep(self.every)

    async def _write(self, attempt: Attempt, run: UnderWay) -> None:
        try:
            await self._write_once(attempt, run)
        except ConflictError:
            body = await self._objects.get(attempt.key)
            if body["metadata"].get("uid") == run.body["metadata"].get("uid"):
                run.body = body
                await self._write_once(attempt, run)

    async def _write_once(self, attempt: Attempt, run: UnderWay) -> None:
        moment = attempt.moment
        text = message(self._clock.now() - run.began, run)
        run.body = await self._writer.status_once(
            attempt.key, attempt.watch, run.body, lambda body: running_still(body, moment, text)
        )
