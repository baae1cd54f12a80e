"""The only place that writes custom resources and tells of them: status, our finalizer, and Events.

Every write is a PUT of what was read, with its resourceVersion: nobody's work is ever overwritten. Events are
said once: when an object starts to fail and when it recovers, not at each retry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import structlog

from runner.config.watches import Watch
from runner.control.reasons import told_all
from runner.control.request import Reasons, Trigger
from runner.errors import (
    ConflictError,
    KindAbsentError,
    KubeError,
    LeadershipLostError,
    NestedError,
    NotFoundError,
    StaleError,
)
from runner.kube.discovery import ObjectsApi
from runner.kube.recorder import Recorder
from runner.objects import Body, GroupVersionKind, Json, ObjectKey, texts

FAILED = "ReconcileFailed"
RECOVERED = "Recovered"
INVALID = "InvalidSpec"
UNMAPPED = "StatusFieldLeftAlone"
DEPENDENT_CHANGED = "DependentChanged"
REFERENCE_CHANGED = "ReferenceChanged"
UNUSABLE = "UnusableReference"
PRUNED = "Pruned"
NOT_PRUNED = "NotPruned"
PLACES_LOST = "PrunePlacesLost"
PRUNE_FAILED = "PruneFailed"

_REMEMBERED = 1024  # as much of a message as an Event can carry


LAST_WORDS = 5.0
"""Seconds that a cancelled reconcile gets to write its final status."""
PAUSES = (0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds to wait before another try; after a conflict there is nothing to wait for."""
Decide = Callable[[Body], dict[str, Any]]
"""The new status, from the object as read last."""
EventType = Literal["Normal", "Warning"]
Read = Callable[[ObjectKey], Awaitable[Json]]
log = structlog.get_logger(__name__)


_CAUSES = {
    DEPENDENT_CHANGED: {Trigger.DEPENDENT, Trigger.DEPENDENT_STATUS},
    REFERENCE_CHANGED: {Trigger.REFERENCE},
}


class Announcer:
    """Remembers what was said last about each key.

    `before` is the message of the object's Failure condition, if true: what was said before a restart.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._failing: dict[ObjectKey, str] = {}
        self._warned: dict[tuple[ObjectKey, str], tuple[str, ...]] = {}

    def failed(self, key: ObjectKey, uid: str, message: str, before: str | None, reason: str = FAILED) -> None:
        message = message[:_REMEMBERED]
        known = self._failing.get(key, before[:_REMEMBERED] if before is not None else None)
        self._failing[key] = message
        if known != message:
            self._recorder.record(key, uid, "Warning", reason, message)

    def recovered(self, key: ObjectKey, uid: str, before: str | None) -> None:
        if self._failing.pop(key, before) is not None:
            self._recorder.record(key, uid, "Normal", RECOVERED, "The last reconciliation succeeded again")

    def warned(self, key: ObjectKey, uid: str, warnings: tuple[str, ...], reason: str = INVALID) -> None:
        """Record the warnings that were not among the last ones with that reason."""
        self._record_new(key, uid, "Warning", warnings, reason)

    def noted(self, key: ObjectKey, uid: str, notes: tuple[str, ...], reason: str) -> None:
        """Record the notes that were not among the last ones with that reason; nobody has to act on them."""
        self._record_new(key, uid, "Normal", notes, reason)

    def _record_new(
        self, key: ObjectKey, uid: str, kind: EventType, messages: tuple[str, ...], reason: str
    ) -> None:
        last = self._warned.get((key, reason), ())
        for message in messages:
            if message not in last:
                self._recorder.record(key, uid, kind, reason, message)
        if messages:
            self._warned[key, reason] = messages
        else:
            self._warned.pop((key, reason), None)

    def caused(self, key: ObjectKey, uid: str, reasons: Reasons) -> None:
        """Say which other objects are the reason of a run, once for each kind of reason."""
        for reason, triggers in _CAUSES.items():
            told = told_all(reasons, triggers)
            if told:
                self._recorder.record(key, uid, "Normal", reason, "; ".join(told))

    def pruned(self, key: ObjectKey, uid: str, gone: Sequence[ObjectKey]) -> None:
        """Say what was deleted because a run no longer produced it."""
        if gone:
            named = ", ".join(map(str, gone))
            self._recorder.record(key, uid, "Normal", PRUNED, f"Deleted what the run no longer produced: {named}")

    def forget(self, key: ObjectKey) -> None:
        self._failing.pop(key, None)
        for reason in (INVALID, UNMAPPED, UNUSABLE, NOT_PRUNED, PLACES_LOST, PRUNE_FAILED):
            self._warned.pop((key, reason), None)


class Writer:
    """Writes only what changes the object. Raises the KubeError tree, transient ones after several tries.

    A write that is answered with 404 is a StaleError: only a read tells whether the object is gone, or its kind's
    status subresource.
    """

    def __init__(self, objects: ObjectsApi, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._objects = objects
        self._sleep = sleep
        self._without_status: set[GroupVersionKind] = set()
        self._pruned: dict[ObjectKey, dict[str, Any]] = {}

    async def add_finalizer(self, key: ObjectKey, body: Json, name: str) -> Json:
        """One try, because a conflict asks for a new plan."""
        return await self._replace(key, _with_finalizers(body, [*_finalizers(body), name]))

    async def remove_finalizer(self, key: ObjectKey, body: Json, name: str) -> Json | None:
        """The object without our finalizer; None when that was the last one, or the object is gone."""

        async def without(current: Json) -> Json:
            if name not in _finalizers(current):
                return current
            rest = [finalizer for finalizer in _finalizers(current) if finalizer != name]
            return await self._replace(key, _with_finalizers(current, rest))

        answer = await self._insist(key, body, without, self._objects.get)
        return answer if answer is not None and _finalizers(answer) else None

    async def annotate(self, key: ObjectKey, body: Json, name: str, text: Callable[[str], str]) -> Json | None:
        """The object with that annotation, its text made of the one that is there (or ""); None if it is gone."""

        async def annotated(current: Json) -> Json:
            annotations = texts(current["metadata"].get("annotations"))
            before = annotations.get(name, "")
            if (wanted := text(before)) == before:
                return current
            meta = {**current["metadata"], "annotations": {**annotations, name: wanted}}
            return await self._replace(key, {**current, "metadata": meta})

        return await self._insist(key, body, annotated, self._objects.get)

    async def status_once(self, key: ObjectKey, watch: Watch, body: Json, decide: Decide) -> Json:
        """The object with its new status, written if that differs. One try."""
        if not await self._writable(key, watch):
            return body
        status = decide(body)
        if status == body.get("status") or self._pruned.get(key) == status:
            return body
        with self._noticing(key):
            answer = await self._objects.replace_status(key, {**body, "status": status})
        self._pruned.pop(key, None)
        if answer.get("status") == body.get("status"):
            self._pruned[key] = status  # the kind's schema drops all of it: saying it again is no use
        # The rest is as it was read, because the resourceVersion was the same.
        return {name: value for name, value in body.items() if name != "status"} | {
            name: answer[name] for name in ("metadata", "status") if name in answer
        }

    async def status(self, key: ObjectKey, watch: Watch, body: Json, decide: Decide) -> Json | None:
        """The same, but what can be overcome is tried again, on the object read anew; None when that is gone."""
        return await self._insist(
            key, body, lambda current: self.status_once(key, watch, current, decide), self._with_status
        )

    def forget(self, key: ObjectKey) -> None:
        self._pruned.pop(key, None)

    async def _insist(
        self, key: ObjectKey, body: Json, write: Callable[[Json], Awaitable[Json]], read: Read
    ) -> Json | None:
        """A run's result is worth some patience: losing it to a restarting API server costs a whole run."""
        uid = body["metadata"].get("uid")
        tries = 0
        while True:
            try:
                if tries:
                    body = await read(key)
                if body["metadata"].get("uid") != uid:
                    return None  # another object of the same name: not the one this is about
                return await write(body)
            except NotFoundError:
                return None
            except KubeError as error:
                if not error.transient or tries == len(PAUSES):
                    raise
                if not isinstance(error, ConflictError):
                    await self._sleep(PAUSES[tries])
            tries += 1

    async def _with_status(self, key: ObjectKey) -> Json:
        """The object for a status to be written: nothing else of it has to be whole."""
        try:
            return await self._objects.get(key)
        except NestedError as error:
            if "status" in error.fields:
                raise
            return error.body

    async def _replace(self, key: ObjectKey, body: Json) -> Json:
        with self._noticing(key):
            return await self._objects.replace(key, body)

    @contextmanager
    def _noticing(self, key: ObjectKey) -> Iterator[None]:
        try:
            yield
        except NotFoundError as error:
            self._objects.forget_kind(key.gvk)
            raise StaleError(f"{key} could not be written: {error}") from None

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


async def last_words(key: ObjectKey, words: Awaitable[object]) -> None:
    """Have a cancelled reconcile write its final status, if that takes no longer than a while."""
    try:
        async with asyncio.timeout(LAST_WORDS):
            await words
    except (NotFoundError, KindAbsentError, LeadershipLostError):
        return  # nobody is left to read them, or it is for another leader to say
    except Exception:
        log.exception("the final status could not be written", key=str(key))


def _finalizers(body: Body) -> list[str]:
    return list(body["metadata"].get("finalizers") or ())


def _with_finalizers(body: Json, finalizers: list[str]) -> Json:
    return {**body, "metadata": {**body["metadata"], "finalizers": finalizers}}
