"""Status that is true without a run: what `status:` takes from `children` is evaluated again whenever one changes.

Of a custom resource's children only the names are kept, as its last run wrote or read them. A change leads to one
read of each, and to one write where a value differs; what changes meanwhile or within a second is taken together.
Conditions are left alone. While a run is under way the same holds, and what it saw of its children before they
changed is not written at its end.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache

import structlog

from runner.config.expressions import only_children
from runner.config.watches import Watch
from runner.control import status
from runner.control.changes import OwnerWatch, owners
from runner.control.pause import PAUSED, pause_of
from runner.control.publish import Writer
from runner.control.status import Fields
from runner.errors import KubeError, NotFoundError, OperatorError
from runner.execute.outcome import Ending, Outcome
from runner.kube.clock import REAL, Backoff, Clock
from runner.kube.discovery import ObjectsApi
from runner.kube.listwatch import Change
from runner.objects import Body, GroupVersionKind, Json, ObjectKey, texts

AT_ONCE = 8
"""Custom resources whose children are read at a time."""
PACE = 1.0
"""Seconds from one evaluation for a custom resource to its next."""
LONGEST_PAUSE = 30.0
"""Seconds between two tries while the API server is away."""

MOST_GONE = 10_000
_GONE = ""
"""In place of a resourceVersion."""
log = structlog.get_logger(__name__)


class LiveStatus:
    """Keeps what `status:` takes from `children` true."""

    def __init__(
        self,
        watches: Mapping[GroupVersionKind, Watch],
        objects: ObjectsApi,
        clock: Clock = REAL,
    ) -> None:
        self._watches = watches
        self._objects = objects
        self._writer = Writer(objects, clock.sleep)
        self._clock = clock
        self._children: dict[ObjectKey, tuple[ObjectKey, ...]] = {}
        self._written: dict[ObjectKey, Fields] = {}
        self._versions: dict[str, str] = {}
        self._gone: deque[str] = deque()
        self._looked: set[ObjectKey] = set()
        self._due: set[ObjectKey] = set()
        self._evaluating: dict[ObjectKey, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)

    def look(self, change: Change, owner_watch: OwnerWatch) -> None:
        """A dependent appeared, changed or is gone."""
        meta = change.new or change.old
        if meta is None or not live(self._watches[owner_watch.owner]):
            return
        self._versions[meta.uid] = change.new.resource_version if change.new is not None else _GONE
        if change.new is None:
            self._let_go(meta.uid)
        child = ObjectKey(change.gvk, meta.namespace, meta.name)
        for owner in owners(meta, owner_watch):
            if child in self._children.get(owner, ()):
                self._looked.add(owner)
                self._evaluate_soon(owner)

    async def current(self, key: ObjectKey, children: tuple[Body, ...]) -> tuple[Body, ...]:
        """The children of a run that ended, read anew where they have changed since the run saw them."""
        self._children[key] = tuple(map(key_of, children))
        self._looked.discard(key)
        return tuple([body for child in children if (body := await self._unless_stale(child)) is not None])

    def written(self, key: ObjectKey) -> None:
        """The status holds what `current` gave; what has changed since may have been overwritten."""
        self._written.pop(key, None)
        if key in self._looked:
            self._looked.discard(key)
            self._evaluate_soon(key)

    def _let_go(self, uid: str) -> None:
        """A run under way may have seen it; of those long gone nothing is kept."""
        self._gone.append(uid)
        if len(self._gone) > MOST_GONE:
            self._versions.pop(self._gone.popleft(), None)

    def forget(self, key: ObjectKey) -> None:
        self._looked.discard(key)
        self._children.pop(key, None)
        self._written.pop(key, None)
        self._writer.forget(key)

    async def stop(self) -> None:
        evaluating = tuple(self._evaluating.values())
        for task in evaluating:
            task.cancel()
        await asyncio.gather(*evaluating, return_exceptions=True)

    def _evaluate_soon(self, owner: ObjectKey) -> None:
        self._due.add(owner)
        if owner not in self._evaluating:
            self._evaluating[owner] = asyncio.create_task(
                self._evaluate_while_due(owner), name=f"live status of {owner}"
            )

    async def _evaluate_while_due(self, owner: ObjectKey) -> None:
        backoff = Backoff(PACE, LONGEST_PAUSE, self._clock)
        try:
            while owner in self._due:
                self._due.discard(owner)
                async with self._slots:
                    held = await self._evaluated(owner)
                if held:
                    backoff.reset()
                await self._clock.sleep(PACE if held else backoff.next())
        finally:
            self._due.discard(owner)
            del self._evaluating[owner]

    async def _evaluated(self, owner: ObjectKey) -> bool:
        """Whether that went well, or is not worth another try."""
        try:
            await self._evaluate(owner)
        except OperatorError as error:
            log.warning("status could not be kept true", key=str(owner), error=str(error))
            if isinstance(error, KubeError) and error.transient:
                self._due.add(owner)
                return False
        return True

    async def _evaluate(self, owner: ObjectKey) -> None:
        known = self._children.get(owner, ())
        found = [await self._get(child) for child in known]
        children = tuple(body for body in found if body is not None)
        watch = self._watches[owner.gvk]
        fields, _ = status.mapped(live(watch), Outcome(Ending.FINISHED, 0, None, children=children))
        if self._written.get(owner) == fields or self._children.get(owner) != known:
            return
        body = await self._get(owner)
        if body is not None and not self._is_paused(body):
            await self._writer.status(
                owner, watch, body, lambda current: status.merged(status.status_of(current), fields)
            )
            self._written[owner] = fields

    def _is_paused(self, body: Body) -> bool:
        """Nothing is written then; the run that follows brings the status up to date."""
        annotation = texts(body["metadata"].get("annotations")).get(PAUSED)
        return pause_of(annotation, datetime.fromtimestamp(self._clock.wall(), UTC)) is not None

    async def _unless_stale(self, child: Body) -> Body | None:
        meta = child["metadata"]
        if self._versions.get(meta["uid"], meta.get("resourceVersion")) == meta.get("resourceVersion"):
            return child
        return await self._get(key_of(child))

    async def _get(self, key: ObjectKey) -> Json | None:
        try:
            return await self._objects.get(key)
        except NotFoundError:
            return None


@lru_cache(maxsize=64)
def _live(expressions: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return {path: expression for path, expression in expressions if only_children(expression)}


def live(watch: Watch) -> Mapping[str, str]:
    """The expressions of a watch's `status:` that ask for nothing but children."""
    return _live(tuple(watch.status.items())) if watch.manage_status else {}


def key_of(body: Body) -> ObjectKey:
    meta = body["metadata"]
    gvk = GroupVersionKind.of(str(body.get("apiVersion", "")), str(body.get("kind", "")))
    return ObjectKey(gvk, str(meta.get("namespace", "")), str(meta.get("name", "")))
