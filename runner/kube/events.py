"""Which Kubernetes Events to write: the same thing said again is a count, and nobody may shout."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from runner.objects import ObjectKey

EventType = Literal["Normal", "Warning"]
MESSAGE_LIMIT = 1024
NAME_LIMIT = 253
BURST = 25.0
REFILL_SECONDS = 300.0
REMEMBERED = 4096
SAME_FOR = 600.0


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

    def allowed(self, uid: str, now: float) -> bool:
        """Whether one more Event about this object may be written: BURST at once, then one per REFILL_SECONDS."""
        bucket = self._buckets.pop(uid, None) or _Bucket(at=now)
        _insert(self._buckets, uid, bucket)
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.at) / REFILL_SECONDS)
        bucket.at = now
        if bucket.tokens < 1.0:
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
