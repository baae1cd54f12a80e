"""Tells people what happened to a custom resource, as Kubernetes Events, without ever being in the way.

Saying something puts it on a bounded queue; writing is done beside the reconciles, and whatever fails is
dropped: an Event is a courtesy.
"""

from __future__ import annotations

import asyncio

import structlog

from runner.errors import ForbiddenError, KubeError, NotFoundError
from runner.kube.backoff import Backoff
from runner.kube.client import AGENT, Client
from runner.kube.clock import REAL, Clock
from runner.kube.events import Correlator, EventType, Said, Written, new_event, shortened, stamp
from runner.objects import ObjectKey

log = structlog.get_logger(__name__)

QUEUE = 1000
TRIES = 3
SILENT_AFTER_REFUSAL = 300.0


class Recorder:
    """`record` from anywhere in the event loop; `run` once, until it is cancelled."""

    def __init__(self, client: Client, component: str = AGENT, *, clock: Clock = REAL) -> None:
        self._client = client
        self._component = component
        self._clock = clock
        self._waiting: asyncio.Queue[Said] = asyncio.Queue(QUEUE)
        self._known = Correlator()
        self._silent_until: dict[str, float] = {}
        self._told = False

    def record(self, key: ObjectKey, uid: str, kind_of: EventType, reason: str, message: str) -> None:
        """Never blocks, never raises; drops what exceeds the object's rate or the queue."""
        if self._known.allowed(uid, self._clock.now()) and not self._waiting.full():
            self._waiting.put_nowait(Said(key, uid, kind_of, reason, shortened(message)))

    async def run(self) -> None:
        while True:
            said = await self._waiting.get()
            try:
                await self._write_patiently(said)
            except ForbiddenError as error:
                self._refused(said.namespace, error)
            except KubeError as error:
                log.debug("an event was dropped", object=str(said.key), reason=said.reason, error=str(error))
            except Exception:
                log.exception("an event could not be written", object=str(said.key), reason=said.reason)

    async def _write_patiently(self, said: Said) -> None:
        if self._clock.now() < self._silent_until.get(said.namespace, 0.0):
            return
        backoff = Backoff(0.5, 10.0, self._clock)
        while True:
            try:
                await self._write(said)
            except KubeError as error:
                wait = backoff.next()
                if backoff.failures >= TRIES or not error.transient:
                    raise
                await self._clock.sleep(wait)
            else:
                return

    async def _write(self, said: Said) -> None:
        now = self._clock.wall()
        earlier = self._known.earlier(said, now)
        if earlier is None:
            await self._create(said, now)
            return
        try:
            await self._count_up(said, earlier, now)
        except NotFoundError:  # Events expire
            self._known.forget(said)
            await self._create(said, now)

    async def _create(self, said: Said, now: float) -> None:
        body = new_event(said, self._component, now)
        await self._client.request("POST", _path(said), body=body)
        self._known.note(said, Written(body["metadata"]["name"], 1, now))

    async def _count_up(self, said: Said, earlier: Written, now: float) -> None:
        count = earlier.count + 1
        await self._client.request(
            "PATCH",
            f"{_path(said)}/{earlier.name}",
            body={"count": count, "lastTimestamp": stamp(now)},
            content_type="application/merge-patch+json",
        )
        self._known.note(said, Written(earlier.name, count, now))

    def _refused(self, namespace: str, error: ForbiddenError) -> None:
        """403: says so once; the namespace is left alone for a while, in case it is allowed one day."""
        if "being terminated" in error.message:
            return
        self._silent_until[namespace] = self._clock.now() + SILENT_AFTER_REFUSAL
        if not self._told:
            self._told = True
            log.warning(
                "events cannot be written, they are dropped from now on",
                namespace=namespace,
                error=str(error),
                todo='add the rule {apiGroups: [""], resources: ["events"], verbs: ["create", "patch"]} '
                "to the role of the operator's service account",
            )


def _path(said: Said) -> str:
    return f"/api/v1/namespaces/{said.namespace}/events"
