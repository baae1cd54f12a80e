"""The only place that writes custom resources: their status, and our finalizer.

Every write is a PUT of what was read, with its resourceVersion: nobody's work is ever overwritten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog

from runner.control.ports import Json, Objects
from runner.errors import ConflictError, NotFoundError
from runner.objects import Body, GroupVersionKind, ObjectKey
from runner.watches import Watch

TRIES = 5

Decide = Callable[[Body], dict[str, Any]]
"""The new status, from the object as read last."""

log = structlog.get_logger(__name__)


class Writer:
    """Writes only what changes the object. Raises the ApiError tree; ConflictError after TRIES conflicts."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._without_status: set[GroupVersionKind] = set()
        self._pruned: dict[ObjectKey, dict[str, Any]] = {}

    async def add_finalizer(self, key: ObjectKey, body: Json, name: str) -> Json:
        """One try, because a conflict asks for a new plan."""
        return await self._objects.replace(key, _with_finalizers(body, [*_finalizers(body), name]))

    async def remove_finalizer(self, key: ObjectKey, body: Json, name: str) -> Json | None:
        """The object without our finalizer; None when that was the last one, or the object is gone."""

        async def without(current: Json) -> Json:
            if name not in _finalizers(current):
                return current
            rest = [finalizer for finalizer in _finalizers(current) if finalizer != name]
            return await self._objects.replace(key, _with_finalizers(current, rest))

        answer = await self._insist(key, body, without)
        return answer if answer is not None and _finalizers(answer) else None

    async def status_once(self, key: ObjectKey, watch: Watch, body: Json, decide: Decide) -> Json:
        """The object with its new status, written if that differs. One try."""
        if not await self._writable(key, watch):
            return body
        status = decide(body)
        if status == body.get("status") or self._pruned.get(key) == status:
            return body
        answer = await self._objects.replace_status(key, {**body, "status": status})
        self._pruned.pop(key, None)
        if answer.get("status") == body.get("status"):
            self._pruned[key] = status  # the kind's schema drops all of it: saying it again is no use
        return answer

    async def status(self, key: ObjectKey, watch: Watch, body: Json, decide: Decide) -> Json | None:
        """The same, but on a conflict reads and decides again; None when the object is gone."""
        return await self._insist(key, body, lambda current: self.status_once(key, watch, current, decide))

    def forget(self, key: ObjectKey) -> None:
        self._pruned.pop(key, None)

    async def _insist(self, key: ObjectKey, body: Json, write: Callable[[Json], Any]) -> Json | None:
        uid = body["metadata"].get("uid")
        try:
            for _ in range(TRIES - 1):
                try:
                    answer: Json = await write(body)
                except ConflictError:
                    body = await self._objects.get(key)
                    if body["metadata"].get("uid") != uid:
                        return None  # another object of the same name: not the one this is about
                else:
                    return answer
            answer = await write(body)
        except NotFoundError:
            return None
        return answer

    async def _writable(self, key: ObjectKey, watch: Watch) -> bool:
        if not watch.manage_status:
            return False
        if await self._objects.has_status(key):
            self._without_status.discard(key.gvk)
            return True
        if key.gvk not in self._without_status:
            self._without_status.add(key.gvk)
            log.warning("kind has no status subresource: its runs are not reported there", gvk=str(key.gvk))
        return False


def _finalizers(body: Body) -> list[str]:
    return list(body["metadata"].get("finalizers") or ())


def _with_finalizers(body: Json, finalizers: list[str]) -> Json:
    return {**body, "metadata": {**body["metadata"], "finalizers": finalizers}}
