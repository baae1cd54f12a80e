"""Tells people what happened to a custom resource, as Kubernetes Events, without ever being in the way.

The same thing said again is a count, and nobody may shout. Saying something puts it on a bounded queue; writing
is done beside the reconciles, and whatever fails is dropped: an Event is a courtesy.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import structlog

from runner.errors import ForbiddenError, KubeError, NotFoundError
from runner.kube.client import Client
from runner.kube.clock import REAL, Backoff, Clock
from runner.kube.connection import AGENT
from runner.objects import ObjectKey

EventType = Literal["Normal", "Warning"]
MESSAGE_LIMIT = 1024
NAME_LIMIT = 253
BURST = 25.0
REFILL_SECONDS = 300.0
KEPT = 10.0
"""Of a BURST, what is normal leaves to warnings."""
REMEMBERED = 4096
SAME_FOR = 600.0


log = structlog.get_logger(__name__)
QUEUE = 1000
TRIES = 3
SILENT_AFTER_REFUSAL = 300.0


@dataclass(frozen=True, slots=True)
class Said:
    """One thing to say about one object."""

    key: ObjectKey
    uid: str
    type: EventType
    reason: str
    message: str

    @property
    def namespace(self) -> str:
        """Where its Event lives: beside the object, or in `default` for a cluster-scoped one."""
        return self.key.namespace or "default"


@dataclass(slots=True)
class Written:
    """An Event that exists: what it takes to count it up. `at` is since 1970, in seconds."""

    name: str
    count: int
    at: float


@dataclass(slots=True)
class _Bucket:
    tokens: float = BURST
    at: float = 0.0


@dataclass(slots=True)
class Correlator:
    """Remembers what was said, and how much about each object; client-go's figures, least recently used first."""

    _written: OrderedDict[Said, Written] = field(default_factory=OrderedDict)
    _buckets: OrderedDict[str, _Bucket] = field(default_factory=OrderedDict)

    def allowed(self, uid: str, now: float, kept: float = 0.0) -> bool:
        """Whether one more Event about this object may be written: BURST at once, then one per REFILL_SECONDS.

        So many of them are `kept` for others.
        """
        bucket = self._buckets.pop(uid, None) or _Bucket(at=now)
        _insert(self._buckets, uid, bucket)
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.at) / REFILL_SECONDS)
        bucket.at = now
        if bucket.tokens < 1.0 + kept:
            return False
        bucket.tokens -= 1.0
        return True

    def earlier(self, said: Said, now: float) -> Written | None:
        """The Event that says the same, if it was written within SAME_FOR seconds."""
        found = self._written.get(said)
        return found if found is not None and now - found.at < SAME_FOR else None

    def note(self, said: Said, written: Written) -> None:
        self._written.pop(said, None)
        _insert(self._written, said, written)

    def forget(self, said: Said) -> None:
        self._written.pop(said, None)


def new_event(said: Said, component: str, now: float) -> dict[str, Any]:
    """The body of a core/v1 Event that says it for the first time. `now` is since 1970, in seconds."""
    suffix = f".{int(now * 1e9):x}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": said.key.name[: NAME_LIMIT - len(suffix)].rstrip(".-") + suffix,
            "namespace": said.namespace,
        },
        "involvedObject": {
            "apiVersion": said.key.gvk.api_version,
            "kind": said.key.gvk.kind,
            "name": said.key.name,
            "uid": said.uid,
            **({"namespace": said.key.namespace} if said.key.namespace else {}),
        },
        "type": said.type,
        "reason": said.reason,
        "message": said.message,
        "count": 1,
        "firstTimestamp": stamp(now),
        "lastTimestamp": stamp(now),
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
    }


def shortened(message: str) -> str:
    """At most MESSAGE_LIMIT characters, which is what the API server accepts."""
    return message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 1] + "…"


def stamp(now: float) -> str:
    """RFC 3339, whole seconds, UTC."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _insert(memory: OrderedDict[Any, Any], key: object, value: object) -> None:
    memory[key] = value
    if len(memory) > REMEMBERED:
        memory.popitem(last=False)


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
        kept = KEPT if kind_of == "Normal" else 0.0
        if self._known.allowed(uid, self._clock.now(), kept) and not self._waiting.full():
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
            finally:
                self._waiting.task_done()

    async def drained(self, seconds: float) -> None:
        """Wait until all that was recorded is written or dropped, at most this long. `run` has to be under way."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._waiting.join(), seconds)

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
