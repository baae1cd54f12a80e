"""What a run is told of itself: why it takes place, which attempt it is, and how the one before ended. Pure.

Why is what changed of which object, by whom and when. The API server writes into an object's managedFields who has
set which field, and when they wrote last. That tells who wrote this version, as far as it can: not who removed
something, nor who deleted the object. All of it is text of others: it is bounded, and printable.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any

from runner.control.request import Reason, Reasons, Trigger
from runner.control.status import FAILURE, INTERRUPTED, RUNNING, SUCCESSFUL, conditions_of, find, status_of
from runner.kube.listwatch import Change
from runner.objects import SIGN, Body, ObjectKey, ObjectMeta, generation_of, sign

MOST_FIELDS = 10
"""Of one reason; where there are more, what they have in common is named instead."""
LONGEST = 128
"""Characters of a field manager, which is what Kubernetes allows it, or of a field."""
JUST_NOW = timedelta(seconds=3)
"""An older write is none that was heard of only now."""
OF_OTHERS = frozenset({Trigger.DEPENDENT, Trigger.DEPENDENT_STATUS, Trigger.REFERENCE})
"""Triggers that come from another object than the custom resource."""
CREATION = "metadata.creationTimestamp"
DELETION = "metadata.deletionTimestamp"
MOST_TOLD = 3
_LIFE: dict[tuple[str, ...], str] = {(CREATION,): "created", (DELETION,): "deleted"}
_DEEPEST = 12
_MOST_LEAVES = 500
"""Of one fieldsV1 at one depth; where it has more, a smaller depth names what they have in common."""
_BOOKKEEPING = (
    "deployment.kubernetes.io/",
    "endpoints.kubernetes.io/",
    "control-plane.alpha.kubernetes.io/",
    "pv.kubernetes.io/",
    "volume.kubernetes.io/",
)
"""Annotations that Kubernetes' own controllers write as a kind of status."""
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_NO_CONTENT = frozenset({"f:metadata", "f:status", "f:apiVersion", "f:kind"})


def content_changed(old: ObjectMeta, new: ObjectMeta) -> bool:
    """Whether more than metadata and status changed; of kinds without generation, more than the status.

    Entries of managedFields carry the second of a write, so a second edit within one second changes no digest.
    """
    if old.generation or new.generation:
        return old.generation != new.generation
    if old.resource_version == new.resource_version:
        return False
    return old.content_digest != new.content_digest or old.status_digest == new.status_digest


def reason_of(change: Change, trigger: Trigger, now: datetime) -> Reason:
    """Of a change that was heard of `now`."""
    meta = change.new or change.old
    if meta is None or trigger is Trigger.START:
        return Reason(trigger)
    key = ObjectKey(change.gvk, meta.namespace, meta.name)
    if change.new is None:
        return Reason(trigger, key, fields=(DELETION,), time=stamp(now))
    old = change.old if change.old is not None and change.old.uid == meta.uid else None
    content = old is not None and content_changed(old, change.new)
    writer = _writer(change.managed, old, now, content=content)
    fields = (*(_contents(writer) if content else ()), *(changed_metadata(old, change.new) if old else ()))
    if old is None and trigger in OF_OTHERS:
        fields = (CREATION,)
    return Reason(
        trigger,
        key,
        manager=clean(str(writer.get("manager", ""))),
        fields=fields[:MOST_FIELDS],
        time=clean(str(writer.get("time") or stamp(now))),
    )


def changed_metadata(old: ObjectMeta, new: ObjectMeta) -> tuple[str, ...]:
    """The fields of the metadata that were set, changed or removed; without the bookkeeping of Kubernetes."""
    pairs = set(old.labels) ^ set(new.labels)
    notes = {pair for pair in set(old.annotations) ^ set(new.annotations) if not pair[0].startswith(_BOOKKEEPING)}
    found = sorted({_joined("metadata.labels", _quoted(name)) for name, _ in pairs})
    found += sorted({_joined("metadata.annotations", _quoted(name)) for name, _ in notes})
    found += ["metadata.finalizers"] if old.finalizers != new.finalizers else []
    found += ["metadata.ownerReferences"] if old.owners != new.owners else []
    found += [DELETION] if old.deletion != new.deletion else []
    return tuple(found)


def _writer(managed: Sequence[Body], old: ObjectMeta | None, now: datetime, *, content: bool) -> Body:
    """The entry of who wrote last; an empty one where that is not known."""
    entries = [entry for entry in managed if entry.get("subresource") != "status"]
    if old is not None:
        known = {old.writers[place : place + SIGN] for place in range(0, len(old.writers), SIGN)}
        new = [entry for entry in entries if sign(entry) not in known]
        # Whoever wrote twice in one second cannot be told from somebody who removed something.
        entries = new or [entry for entry in entries if now - _time(entry) < JUST_NOW]
    return max(entries, key=lambda entry: (content and bool(_contents(entry)), _time(entry)), default={})


def _time(entry: Body) -> datetime:
    try:
        return datetime.fromisoformat(str(entry.get("time"))).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.min.replace(tzinfo=UTC)


def _contents(entry: Body) -> tuple[str, ...]:
    """The fields of an entry without metadata and status."""
    owned = entry.get("fieldsV1")
    owned = owned if isinstance(owned, Mapping) else {}
    return paths({key: value for key, value in owned.items() if key not in _NO_CONTENT})


def paths(owned: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields of a `fieldsV1`, as `spec.containers[].image`; at most MOST_FIELDS."""
    for depth in range(_DEEPEST, 0, -1):
        leaves = list(islice(_leaves(owned, depth), _MOST_LEAVES + 1))
        distinct = tuple(dict.fromkeys(leaves))
        if len(leaves) <= _MOST_LEAVES and len(distinct) <= MOST_FIELDS:
            break
    return distinct[:MOST_FIELDS]


def _leaves(owned: Mapping[str, Any], depth: int) -> Iterator[str]:
    for key, inner in owned.items():
        if key == ".":
            continue
        deeper = isinstance(inner, Mapping) and depth > 1 and any(name != "." for name in inner)
        if not deeper:
            yield clean(_segment(key))
            continue
        for rest in _leaves(inner, depth - 1):
            yield clean(_joined(_segment(key), rest))


def _segment(key: str) -> str:
    """One key of `fieldsV1` as text: a field's name, or an item of a list without the values that identify it."""
    kind, _, text = key.partition(":")
    if kind == "f":
        return _quoted(text)
    return f"[{text}]" if kind == "i" and text.isdecimal() else "[]"


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"['{name}']"


def _joined(path: str, rest: str) -> str:
    return f"{path}{rest}" if rest.startswith("[") else f"{path}.{rest}"


def clean(text: str) -> str:
    """Printable, on one line, and not too long: it goes into logs, Events and variables."""
    return "".join([char if char.isprintable() else "?" for char in text[:LONGEST]])


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def told(reason: Reason) -> str:
    """For people: `Deployment default/web changed by kubectl-edit: spec.replicas`."""
    what, fields = str(reason.trigger), reason.fields
    if reason.trigger in OF_OTHERS:
        verb = _LIFE.get(reason.fields)
        what = f"{reason.object} {verb or 'changed'}"
        fields = () if verb else fields
    by = f" by {reason.manager}" if reason.manager else ""
    return what + by + (f": {', '.join(fields)}" if fields else "")


def told_all(reasons: Reasons, triggers: Container[Trigger] = frozenset(Trigger)) -> list[str]:
    """The first that have one of these triggers, for people, and how many more reasons there are."""
    chosen = [told(reason) for reason in reasons.first if reason.trigger in triggers]
    more = max(0, len(chosen) - MOST_TOLD) + reasons.more
    return [*chosen[:MOST_TOLD], *([f"and {more} more"] if more and chosen else [])]


def described(reasons: Reasons, due: datetime) -> list[dict[str, Any]]:
    """For programs, as JSON; what is not known is left out. What has no time of its own is of when it was due."""
    return [_described(replace(reason, time=reason.time or stamp(due))) for reason in reasons.first]


def _described(reason: Reason) -> dict[str, Any]:
    key = reason.object
    found: dict[str, Any] = {"trigger": str(reason.trigger)}
    if key is not None:
        found |= {
            "apiVersion": key.gvk.api_version,
            "kind": key.gvk.kind,
            "namespace": key.namespace,
            "name": key.name,
        }
    found |= {"manager": reason.manager, "fields": list(reason.fields), "time": reason.time}
    return {name: value for name, value in found.items() if value}


class Previous(StrEnum):
    """How the run before ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    UNKNOWN = ""


def previous(body: Body) -> Previous:
    """How the last run ended, by the conditions as it left them."""
    found = {item.get("type"): item for item in conditions_of(status_of(body))}
    running = found.get(RUNNING, {})
    if (running.get("status"), running.get("reason")) in (("True", "Running"), ("False", INTERRUPTED)):
        return Previous.INTERRUPTED
    for kind, result in ((FAILURE, Previous.FAILED), (SUCCESSFUL, Previous.SUCCEEDED)):
        if found.get(kind, {}).get("status") == "True":
            return result
    return Previous.UNKNOWN


def completed_at(body: Body) -> datetime | None:
    """When the current generation was reconciled successfully; None if it was not, or nobody knows when."""
    conditions = conditions_of(status_of(body))
    successful, running = find(conditions, SUCCESSFUL), find(conditions, RUNNING)
    generation = generation_of(body)
    if not (successful and running and generation):
        return None
    if successful.get("status") != "True" or successful.get("observedGeneration") != generation:
        return None
    try:
        completed = datetime.fromisoformat(running["ansibleResult"]["completion"])
    except (KeyError, TypeError, ValueError):
        return None
    return completed if completed.tzinfo is not None else None


_RESULTS = {"succeeded": Previous.SUCCEEDED, "requeued": Previous.SUCCEEDED, "failed": Previous.FAILED}


class Tries:
    """Each object's runs since the operator's start: of which generation, how many, and how the last one ended."""

    def __init__(self) -> None:
        self._known: dict[ObjectKey, tuple[int, int, Previous]] = {}

    def begin(self, key: ObjectKey, generation: int, before: Previous) -> tuple[int, Previous]:
        """The number of the run that begins, and how the one `before` ended, which others say."""
        known, number, result = self._known.get(key, (0, 0, before))
        return (number + 1 if known == generation else 1), result

    def ended(self, key: ObjectKey, generation: int, number: int, verdict: str) -> None:
        """`verdict` is that of its reconcile."""
        self._known[key] = (generation, number, _RESULTS.get(verdict, Previous.INTERRUPTED))

    def forget(self, key: ObjectKey) -> None:
        self._known.pop(key, None)
