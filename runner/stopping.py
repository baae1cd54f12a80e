"""How the process is asked to stop, and how tasks are ended."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def stopped_by_signals(stopping: asyncio.Event, restore: Callable[[], None] = lambda: None) -> Iterator[None]:
    """The first SIGTERM or SIGINT asks to stop, the second ends the process at once, whatever the loop does.

    `restore` is called before that end, for what would be left of the process: a terminal's state.

    Exit code 1, as the Go operator; each run's supervisor sees its lifeline close, and ends every process.
    """
    loop = asyncio.get_running_loop()
    asked = False

    def on_signal(_number: int, _frame: object) -> None:
        nonlocal asked
        if asked:
            with suppress(Exception):
                restore()
            os._exit(1)
        asked = True
        with suppress(RuntimeError):  # the loop is closed: it ends anyhow
            loop.call_soon_threadsafe(stopping.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)  # not the loop's: it hears of two that come together but once
    yield


async def either(*coroutines: Coroutine[Any, Any, object]) -> None:
    """Wait for the first to end, and end the others; what it raises is raised."""
    waiting = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        await ended(task)
    for task in done:
        task.result()


async def ended(task: asyncio.Future[Any]) -> None:
    """Cancel it, and wait until it has ended."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
