"""Keeps a Store equal to what the API server has, for one kind in one namespace or all, for ever.

It lists, then watches from where the list ended; whatever goes wrong it waits, with growing patience, and
resumes: from the last resourceVersion where that is still good (a data store that was restored from a backup has
not come to it), else with a new list whose differences from the Store are reported like any change. It ends only
by being cancelled.

Nothing the API server or the network does is an error here; everything passes, some of it only when a person
acts (a missing CustomResourceDefinition, a missing permission), and then the log says what to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum

import structlog

from runner.errors import (
    ApiError,
    ForbiddenError,
    GoneError,
    KindAbsentError,
    KubeError,
    NotFoundError,
    ShortWatchError,
    StreamError,
    UnreachableError,
)
from runner.kube.advice import advice
from runner.kube.client import Client
from runner.kube.clock import REAL, Backoff, Clock
from runner.kube.discovery import Discovery, Resource
from runner.kube.listwatch import Change, Name, Store, WatchFrom, pages, was_set_back, watching
from runner.objects import Body, GroupVersionKind, managed_fields, parse_meta

LEAST, MOST = 0.1, 30.0
ABSENT_POLL, ABSENT_POLL_MOST = 1.0, 10.0
FORBIDDEN_POLL, FORBIDDEN_POLL_MOST = 1.0, 60.0
"""Seconds: short at first, for a CRD or a Role is often applied just after the operator."""
REFUSALS_BEFORE_LIST = 5
FAILING_AFTER = 60.0
"""Seconds of the API server's own errors after which a kind that was listed is not ready any more."""
USUAL = 3
"""Watches in a row that may end early before that is worth a line: a change of a CRD ends those of its kind."""


log = structlog.get_logger(__name__)


class Phase(StrEnum):
    """What a reflector is doing."""

    STARTING = "starting"
    ABSENT = "absent"
    FORBIDDEN = "forbidden"
    WATCHING = "watching"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Retry:
    """What to do next: the phase to show, seconds to wait, whether the resourceVersion is of no more use.

    `usual`: the watch ended as watches do when a CRD is changed, and the next try is likely to find all well.
    """

    phase: Phase
    delay: float
    relist: bool
    usual: bool = False


class RetryPolicy:
    """Counts failures in a row and decides; one per reflector."""

    def __init__(self, clock: Clock) -> None:
        self._storm = Backoff(LEAST, MOST, clock)
        self._expired = Backoff(LEAST, MOST, clock)
        self._absent = Backoff(ABSENT_POLL, ABSENT_POLL_MOST, clock)
        self._forbidden = Backoff(FORBIDDEN_POLL, FORBIDDEN_POLL_MOST, clock)

    def fine(self) -> None:
        """A watch held: the next trouble is the first."""
        self._storm.reset()
        self._expired.reset()
        self._absent.reset()
        self._forbidden.reset()

    def judge(self, error: Exception) -> Retry:
        if isinstance(error, KindAbsentError):
            return Retry(Phase.ABSENT, self._absent.next(), relist=True)
        if isinstance(error, ForbiddenError):
            return Retry(Phase.FORBIDDEN, self._forbidden.next(), relist=False)
        if isinstance(error, GoneError):  # usual after an outage, whose long waits it must not inherit
            delay = self._expired.next()
            return Retry(Phase.WAITING, delay, relist=True, usual=self._expired.failures <= USUAL)
        asked = (error.retry_after or 0.0) if isinstance(error, ApiError) else 0.0
        delay = max(self._storm.next(), min(asked, MOST))
        changing = isinstance(error, ShortWatchError) or (isinstance(error, ApiError) and error.status == 429)
        usual = changing and self._storm.failures <= USUAL  # 429: "storage is (re)initializing"
        return Retry(Phase.WAITING, delay, relist=self._must_list(error), usual=usual)

    def _must_list(self, error: Exception) -> bool:
        if isinstance(error, ApiError) and not isinstance(error, NotFoundError):
            return self._storm.failures % REFUSALS_BEFORE_LIST == 0  # perhaps it is our version it refuses
        return not isinstance(error, KubeError) or isinstance(error, StreamError | NotFoundError)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: how long a watch lasts (between two bounds), when a silent one counts as dead, how long a
    watch must have held to count as working.
    """

    watch: tuple[float, float] = (240.0, 480.0)
    margin: float = 30.0
    steady: float = 5.0


class Reflector:
    """One kind's Store and the changes to it.

    `on_change` is called in the event loop, in the order of the changes of each object; what it raises is
    logged and changes nothing. `has_synced` is set by the first complete list, `known` also by the knowledge
    that there is nothing to list: the kind is absent, or forbidden. `why` says what keeps it from
    watching, if anything. `restarts` counts watches and lists that ended in trouble.
    """

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        gvk: GroupVersionKind,
        namespace: str,
        on_change: Callable[[Change], None],
        *,
        pace: Pace | None = None,
        clock: Clock = REAL,
    ) -> None:
        self.gvk = gvk
        self.namespace = namespace
        self.store = Store(gvk)
        self.has_synced = asyncio.Event()
        self.known = asyncio.Event()
        self.phase = Phase.STARTING
        self.why = ""
        self.restarts = 0
        self._client = client
        self._discovery = discovery
        self._on_change = on_change
        self._pace = pace or Pace()
        self._clock = clock
        self._retry_policy = RetryPolicy(clock)
        self._version = ""
        self._interrupted = False
        self._failing_since: float | None = None
        self._plural = ""
        self._verb = "list"
        self._log = log.bind(gvk=str(gvk), namespace=namespace)

    @property
    def ready(self) -> bool:
        """Whether the kind was listed, is served to us, and was watched within FAILING_AFTER.

        An API server that does not answer at all concerns all kinds alike, and is no reason to be not ready.
        """
        since = self._failing_since
        failing = since is not None and self._clock.now() - since >= FAILING_AFTER
        return self.has_synced.is_set() and self.phase not in (Phase.ABSENT, Phase.FORBIDDEN) and not failing

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            try:
                await self._list_and_watch()
            except Exception as error:  # noqa: BLE001  (a reflector that ends is an operator that is blind)
                await self._clock.sleep(self._after(error))

    async def _list_and_watch(self) -> None:
        resource = await self._discovery.resource(self.gvk)
        self._plural = resource.plural
        if self._interrupted and self._version:
            self._verb = "list"
            if await was_set_back(self._client, resource, self.namespace, self._version):
                self._version = ""
        if not self._version:
            await self._list(resource)
        self._interrupted = False
        await self._watch(resource)

    async def _list(self, resource: Resource) -> None:
        self._verb = "list"
        seen: set[Name] = set()
        listed, version = not self.has_synced.is_set(), ""
        async with aclosing(pages(self._client, resource, self.namespace)) as found:
            async for page in found:
                version = page.version
                for item in page.items:
                    meta = parse_meta(item)
                    seen.add((meta.namespace, meta.name))
                    self._tell(self.store.put(meta, managed_fields(item), listed=listed))
        self._tell(self.store.keep_only(seen))
        self._version = version
        self.has_synced.set()

    async def _watch(self, resource: Resource) -> None:
        self._verb = "watch"
        start = WatchFrom(self._version, int(self._clock.uniform(*self._pace.watch)), self._pace.margin)
        async with watching(self._client, resource, self.namespace, start) as events:
            begun = self._clock.now()
            self._failing_since = None
            self._show(Phase.WATCHING)
            try:
                async for event in events:
                    self._take(event["type"], event["object"])
            finally:
                held = self._clock.now() - begun >= self._pace.steady
                if held:
                    self._retry_policy.fine()
        if not held:
            raise ShortWatchError("the watch was ended at once")

    def _take(self, kind: str, body: Body) -> None:
        if kind != "BOOKMARK":
            meta, managed = parse_meta(body), managed_fields(body)
            self._tell(
                self.store.remove(meta) if kind == "DELETED" else self.store.put(meta, managed, watched=True)
            )
        self._version = body["metadata"]["resourceVersion"]

    def _tell(self, changes: list[Change]) -> None:
        for change in changes:
            try:
                self._on_change(change)
            except Exception:  # noqa: BLE001  (another room's mistake must not end the watch)
                self._log.exception("a change could not be handled", change=change.what)

    def _after(self, error: Exception) -> float:
        """Takes note of the trouble; returns the seconds to wait."""
        if isinstance(error, NotFoundError):
            self._discovery.forget(self.gvk)  # it knows whether the kind is gone or the server confused
        if isinstance(error, KindAbsentError):
            self._tell(self.store.keep_only(set()))
        retry = self._retry_policy.judge(error)
        self.restarts += 1
        failed = isinstance(error, ApiError) and error.status >= 500
        self._interrupted |= failed or isinstance(error, UnreachableError)
        if failed and self._failing_since is None:
            self._failing_since = self._clock.now()
        elif isinstance(error, UnreachableError):
            self._failing_since = None
        if retry.relist:
            self._version = ""
        self._report(error, retry)
        return retry.delay

    def _report(self, error: Exception, retry: Retry) -> None:
        if retry.usual and self.phase is Phase.WATCHING:
            self._log.debug("the watch ended, it begins anew", error=str(error))
            return
        if not isinstance(error, KubeError):
            self._log.error("the reflector failed, it begins anew", exc_info=error)
        todo = advice(error, self.gvk, self._plural, self._verb, self.namespace)
        hint = {"todo": todo} if todo else {}
        self.why = f"{error}: {todo}" if todo else str(error)
        # Of an API server that does not answer, which concerns all kinds, is said once for all of them.
        self._show(retry.phase, quietly=isinstance(error, UnreachableError), error=str(error), **hint)

    def _show(self, phase: Phase, *, quietly: bool = False, **why: str) -> None:
        """Changes the phase; only a change is worth a line in the log."""
        if phase is not Phase.WAITING:
            self.known.set()
        if phase is self.phase:
            return
        what = f"{self.gvk.kind} in {self.namespace}" if self.namespace else self.gvk.kind
        if phase is Phase.WATCHING:
            self.why = ""
            said = f"Watching {what}: {len(self.store)} there"
            self._log.info("watching", objects=len(self.store), said=said)
        elif quietly:
            self._log.debug(_SAYING[phase], **why)
        else:
            self._log.warning(_SAYING[phase], said=f"{what}: {_SAYING[phase]}: {self.why}", **why)
        self.phase = phase


_SAYING = {
    Phase.ABSENT: "the API server does not serve this kind, waiting for it",
    Phase.FORBIDDEN: "not allowed to watch this kind, waiting for permission",
    Phase.WAITING: "the watch was interrupted, trying again",
}
