"""What `reconcileOn` yields of dependents: looked at when one changes; where it differs, the owner is reconciled.

A watch tells of metadata only, so a change leads to one read of that dependent, and changes that come meanwhile to
one more. Of the object nothing is kept but a digest of the value. What a run has seen of its dependents counts as
looked at: a change that it knows of leads to no other run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping

import structlog

from runner.config.expressions import search
from runner.config.watches import Watch
from runner.control.changes import OwnerWatch, owners
from runner.control.queue import WorkQueue
from runner.control.request import Reason, Trigger
from runner.errors import ExpressionError, KubeError, NotFoundError, OperatorError
from runner.kube.clock import REAL, Backoff, Clock
from runner.kube.discovery import ObjectsApi
from runner.kube.listwatch import Change
from runner.objects import Body, GroupVersionKind, Json, ObjectKey

AT_ONCE = 4
"""Reads at a time."""
TRIES = 6

Dependent = tuple[ObjectKey, str]
"""A dependent and its uid."""
_NOTHING = b""
log = structlog.get_logger(__name__)


class Observed:
    """Reads dependents whose `reconcileOn` somebody asked for, and enqueues their owners."""

    def __init__(
        self,
        watches: Mapping[GroupVersionKind, Watch],
        objects: ObjectsApi,
        queue: WorkQueue,
        clock: Clock = REAL,
    ) -> None:
        self._watches = watches
        self._objects = objects
        self._queue = queue
        self._clock = clock
        self._values: dict[tuple[str, GroupVersionKind], bytes] = {}
        self._listed: dict[Dependent, str] = {}
        self._due: dict[Dependent, set[ObjectKey]] = {}
        self._reading: dict[Dependent, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)

    def look(self, change: Change, owner_watch: OwnerWatch) -> None:
        """A dependent appeared, changed or is gone; its owners of this kind may want to know."""
        if change.gvk not in self._watches[owner_watch.owner].reconcile_on:
            return
        if change.new is None:
            if change.old is not None:
                self._values.pop((change.old.uid, owner_watch.owner), None)
            return
        dependent = ObjectKey(change.gvk, change.new.namespace, change.new.name), change.new.uid
        concerned = set(owners(change.new, owner_watch))
        if concerned:
            if change.listed:
                self._listed[dependent] = change.new.resource_version
            self._due.setdefault(dependent, set()).update(concerned)
            if dependent not in self._reading:
                self._reading[dependent] = asyncio.create_task(self._read(dependent), name="look at a dependent")

    def saw(self, watch: Watch, children: Iterable[Body]) -> None:
        """A run for a custom resource of this watch has seen its dependents like that."""
        for body in children:
            gvk = GroupVersionKind.of(str(body.get("apiVersion", "")), str(body.get("kind", "")))
            if expression := watch.reconcile_on.get(gvk):
                self._values[str(body["metadata"]["uid"]), watch.gvk] = digest(expression, body)

    async def stop(self) -> None:
        reading = tuple(self._reading.values())
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)

    async def _read(self, dependent: Dependent) -> None:
        try:
            while dependent in self._due:
                async with self._slots:
                    concerned = self._due.pop(dependent)
                    body = await self._get(dependent[0])
                if body is not None and body["metadata"].get("uid") == dependent[1]:
                    self._compare(dependent, body, concerned)
        except OperatorError as error:
            self._due.pop(dependent, None)
            log.warning(
                "a dependent could not be read, its owner waits for its period",
                dependent=str(dependent[0]),
                error=str(error),
            )
        finally:
            del self._reading[dependent]

    async def _get(self, key: ObjectKey) -> Json | None:
        backoff = Backoff(0.2, 10.0, self._clock)
        while True:
            try:
                return await self._objects.get(key)
            except NotFoundError:
                return None
            except KubeError as error:
                if not error.transient or backoff.failures == TRIES:
                    raise
                await self._clock.sleep(backoff.next())

    def _compare(self, dependent: Dependent, body: Body, concerned: set[ObjectKey]) -> None:
        key, uid = dependent
        # What was like that at the start is no news: the start has every custom resource reconciled.
        known = self._listed.pop(dependent, None) == body["metadata"].get("resourceVersion")
        for kind in {owner.gvk for owner in concerned}:
            value = digest(self._watches[kind].reconcile_on[key.gvk], body)
            before = self._values.get((uid, kind), value if known else _NOTHING)
            self._values[uid, kind] = value
            if value != before:
                for owner in concerned:
                    if owner.gvk == kind:
                        log.debug("what reconcileOn yields has changed", dependent=str(key), key=str(owner))
                        reason = Reason(Trigger.DEPENDENT_STATUS, key)
                        self._queue.add(owner, Trigger.DEPENDENT_STATUS, reason=reason)


def digest(expression: str, body: Body) -> bytes:
    """Of what the expression yields; nothing, null and empty are the same, and so is what cannot be evaluated."""
    try:
        value = search(expression, body)
    except ExpressionError as error:
        log.debug("reconcileOn cannot be evaluated", error=str(error))
        return _NOTHING
    if _is_nothing(value):
        return _NOTHING
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).digest()


def _is_nothing(value: object) -> bool:
    if isinstance(value, list | dict):
        return all(map(_is_nothing, value.values() if isinstance(value, dict) else value))
    return value is None or value is False or value == ""
