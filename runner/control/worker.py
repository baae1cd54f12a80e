"""Workers take keys from the queue, have them reconciled, and put back what follows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from runner.control.backoff import LONGEST
from runner.control.entry import Entry
from runner.control.queue import WorkQueue
from runner.control.result import Result, Verdict
from runner.objects import ObjectKey

LONGEST_TRANSIENT = 30.0
"""Longest backoff, in seconds, for transient failures: trying again costs one request, not a run."""

log = structlog.get_logger(__name__)


class Workers:
    """`number` of them work until `stop`. `reconcile` raises nothing but CancelledError."""

    def __init__(self, queue: WorkQueue, reconcile: Callable[[Entry], Awaitable[Result]], number: int) -> None:
        self._queue = queue
        self._reconcile = reconcile
        self._number = number
        self._tasks: list[asyncio.Task[None]] = []
        self._busy = 0

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._work(), name=f"worker-{n}") for n in range(self._number)]

    async def stop(self, grace: float) -> bool:
        """Take nothing new, let what is active finish for `grace` seconds (negative: for ever), then cancel it.

        Cancelled reconciles write their final status still. Returns whether none had to be cancelled.
        """
        self._queue.close()
        if self._tasks and self._busy:
            await asyncio.wait(self._tasks, timeout=None if grace < 0 else grace)
        in_time = not self._busy
        self.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        return in_time

    def cancel(self) -> None:
        """Begin to end everything at once; `stop` waits until it has ended."""
        self._queue.close()
        for task in self._tasks:
            task.cancel()

    async def _work(self) -> None:
        while (entry := await self._queue.get()) is not None:
            self._busy += 1
            try:
                follow_up(self._queue, entry.key, await self._reconcile(entry))
            finally:
                self._busy -= 1
                self._queue.done(entry.key)


def follow_up(queue: WorkQueue, key: ObjectKey, result: Result) -> None:
    """Put into the queue what a reconcile's result asks for."""
    match result.verdict:
        case Verdict.GONE:
            queue.drop(key)
            return
        case Verdict.SUCCEEDED | Verdict.REQUEUED:
            queue.succeeded(key)
        case Verdict.FAILED | Verdict.CANCELLED if result.after is None:
            limit = LONGEST_TRANSIENT if result.transient else LONGEST
            delay = queue.retry(key, result.generation, limit=limit)
            log.info("retry", key=str(key), seconds=round(delay, 3))
    if result.after is not None:
        queue.add(key, result.trigger, after=result.after)
