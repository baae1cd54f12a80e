"""What Ansible knows of its events, as a warm run sends it: through a pipe, ahead of the output."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from contextlib import suppress
from typing import Any

import structlog

from runner.execute.warm.inside.wire import HEAD

_CHUNK = 64 * 1024
_log = structlog.get_logger(__name__)


class Parts:
    """Takes what comes, so that a run never waits for us, and gives out each part once."""

    def __init__(self, descriptor: int) -> None:
        """`descriptor` is ours from now on, and closed at the end of what can be read from it, or by `close`."""
        os.set_blocking(descriptor, False)
        self._descriptor: int | None = descriptor
        self._unread = bytearray()
        self._waiting: dict[str, deque[dict[str, Any]]] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self._read)

    def take(self, uuid: str) -> dict[str, Any] | None:
        """What came of this event: sent before its output, so it can be read by now.

        An event of the same uuid may come again (a handler's): each is given out in its turn.
        """
        if uuid not in self._waiting:
            self._read()
        waiting = self._waiting.get(uuid)
        if not waiting:
            return None
        if len(waiting) == 1:
            del self._waiting[uuid]
        return waiting.popleft()

    def close(self) -> None:
        """Read no more."""
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _read(self) -> None:
        with suppress(BlockingIOError):
            while self._descriptor is not None:
                chunk = os.read(self._descriptor, _CHUNK)
                self._unread += chunk
                if not chunk:
                    self.close()
        self._split()

    def _split(self) -> None:
        begin = 0
        while len(self._unread) >= begin + HEAD.size:
            end = begin + HEAD.size + HEAD.unpack_from(self._unread, begin)[0]
            if len(self._unread) < end:
                break
            self._add(self._unread[begin + HEAD.size : end])
            begin = end
        del self._unread[:begin]

    def _add(self, data: bytes | bytearray) -> None:
        try:
            part = json.loads(data)
            self._waiting.setdefault(part["uuid"], deque()).append(part)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            _log.warning("cannot read what Ansible told of an event", error=repr(error))
