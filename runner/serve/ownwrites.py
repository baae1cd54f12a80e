"""Which versions of which objects the operator's own runs wrote: such a change need not start another run."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

GONE = ""
"""In place of a resourceVersion: the object was deleted."""


class OwnWrites:
    """Remembers (uid, resourceVersion) for a while. `seconds` and `limit` bound it."""

    def __init__(
        self, *, limit: int = 20_000, seconds: float = 600.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._seconds = seconds
        self._clock = clock
        self._seen: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._under_way: set[asyncio.Future[None]] = set()

    def add(self, uid: str, resource_version: str) -> None:
        now = self._clock()
        self._seen[uid, resource_version] = now
        self._seen.move_to_end((uid, resource_version))
        while self._seen and (len(self._seen) > self._limit or self._oldest() < now - self._seconds):
            self._seen.popitem(last=False)

    def has(self, uid: str, resource_version: str) -> bool:
        when = self._seen.get((uid, resource_version))
        return when is not None and when >= self._clock() - self._seconds

    def _oldest(self) -> float:
        return next(iter(self._seen.values()))

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """A write that is not answered yet: what it changed may be seen before its answer is."""
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way.add(answered)
        try:
            yield
        finally:
            self._under_way.discard(answered)
            if not answered.done():
                answered.set_result(None)

    async def settle(self, seconds: float) -> None:
        """Wait until the writes that are under way now are answered, at most this long."""
        if self._under_way:
            await asyncio.wait(tuple(self._under_way), timeout=seconds)


def written(method: str, body: object) -> list[tuple[str, str]]:
    """The (uid, resourceVersion) pairs that the answer to a successful write tells of.

    A deletion is told by a Status with `details.uid`, by the object, or by a list of them; an object whose last
    finalizer was just removed is gone as well.
    """
    if isinstance(body, dict) and body.get("kind") == "Status":
        uid = _member(body, "details").get("uid")
        return [(uid, GONE)] if uid and isinstance(uid, str) and method == "DELETE" else []
    items = body.get("items") if isinstance(body, dict) else None
    if isinstance(items, list) and "uid" not in _member(body, "metadata"):
        return [pair for item in items for pair in _versions(method, item)]
    return _versions(method, body)


def _versions(method: str, body: object) -> list[tuple[str, str]]:
    meta = _member(body, "metadata")
    uid, version = meta.get("uid"), meta.get("resourceVersion")
    if not uid or not isinstance(uid, str):
        return []
    gone = method == "DELETE" or (meta.get("deletionTimestamp") and not meta.get("finalizers"))
    return [(uid, each) for each in (version, GONE if gone else None) if isinstance(each, str)]


def _member(body: object, name: str) -> dict[str, Any]:
    """A map within what may be anything, or an empty one: aggregated API servers answer as they like."""
    found = body.get(name) if isinstance(body, dict) else None
    return found if isinstance(found, dict) else {}
