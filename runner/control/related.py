"""What custom resources have to do with other objects: those they refer to, and those that they own.

The one seam between the reconciler, which reads custom resources and runs for them, and those who want to know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from runner.config.watches import Watch
from runner.control.changes import OwnerWatch
from runner.control.live import LiveStatus, live
from runner.control.observed import Observed
from runner.control.queue import WorkQueue
from runner.control.references import References
from runner.control.sources import Watching
from runner.errors import KubeError
from runner.kube.discovery import ObjectsApi
from runner.kube.listwatch import Change
from runner.objects import Body, GroupVersionKind, ObjectKey

log = structlog.get_logger(__name__)


class RelatedObjects:
    """References, values of dependents that count, and status that follows them."""

    def __init__(self, watches: Mapping[GroupVersionKind, Watch], objects: ObjectsApi, queue: WorkQueue) -> None:
        self._watches = watches
        self._references = References(watches)
        self._observed = Observed(watches, objects, queue)
        self._live = LiveStatus(watches, objects)
        self._declared: set[GroupVersionKind] = set()

    @property
    def looks(self) -> bool:
        """Whether anybody wants to know how dependents fare."""
        return any(watch.reconcile_on or live(watch) for watch in self._watches.values())

    def follow(self, watching: Watching, namespaces: tuple[str, ...]) -> None:
        """Begin to watch what may be referred to, in these namespaces (none: in all)."""
        self._references.follow(watching, namespaces)

    def follow_declared(self, watching: Watching, change: Change, namespaces: tuple[str, ...]) -> None:
        """From the first custom resource of a kind on, watch the dependents of it whose values count."""
        meta, watch = change.new or change.old, self._watches[change.gvk]
        if meta is None or change.gvk in self._declared or not watch.watch_dependents:
            return
        self._declared.add(change.gvk)
        for kind in watch.reconcile_on:
            for namespace in namespaces or ("",):
                owner_watch = OwnerWatch(watch.gvk, bool(meta.namespace), by_annotation=True)
                watching.dependents((kind, namespace), owner_watch)

    def look(self, change: Change, owner_watch: OwnerWatch) -> None:
        """A dependent appeared, changed, be it only in its status, or is gone."""
        self._observed.look(change, owner_watch)
        self._live.look(change, owner_watch)

    def read(self, key: ObjectKey, watch: Watch, body: Body) -> tuple[str, ...]:
        """A custom resource is like that now; returns what is wrong with its references."""
        return self._references.read(key, watch, body) if watch.references else ()

    async def seen(self, key: ObjectKey, watch: Watch, children: tuple[Body, ...]) -> tuple[Body, ...]:
        """A run has seen its objects like that; returns them as they are now, where that matters."""
        if watch.reconcile_on:
            self._observed.saw(watch, children)
        if not live(watch):
            return children
        try:
            return await self._live.current(key, children)
        except KubeError as error:
            log.debug("children could not be read anew", key=str(key), error=str(error))
            return children

    def written(self, key: ObjectKey) -> None:
        """What came of a run stands in the status."""
        self._live.written(key)

    def forget(self, key: ObjectKey) -> None:
        self._references.forget(key)
        self._live.forget(key)

    async def stop(self) -> None:
        await asyncio.gather(self._observed.stop(), self._live.stop())
