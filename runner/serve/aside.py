"""A thread with an event loop of its own, for requests that must not keep the operator's own waiting.

Five hundred TLS handshakes that come at once are half a second of work. On the operator's loop the requests of
runs, which pass the proxy there, would wait for all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from threading import Thread
from typing import Any, ParamSpec, TypeVar

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class Aside:
    """The loop runs from `start` to `stop`."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Its result, once the thread's loop has run it. It is cancelled with its caller."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def stop(self) -> None:
        """Whatever still runs there is left undone."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.to_thread(self._thread.join)
        self._loop.close()


def at_home(
    call: Callable[Arguments, Coroutine[Any, Any, Result]],
) -> Callable[Arguments, Awaitable[Result]]:
    """The same for callers on another thread's loop: it is run on the loop that is running now."""
    home = asyncio.get_running_loop()

    async def called(*args: Arguments.args, **named: Arguments.kwargs) -> Result:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(*args, **named), home))

    return called
