"""What a run no longer produces: after a success, dependents that it neither wrote nor read are deleted.

Where a custom resource's dependents may be stands in an annotation on it, written before the first one is there:
so neither a restart nor a kill of the operator forgets a place.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import structlog

from runner.control.attempt import Attempt, UnderWay
from runner.control.pause import PLACES
from runner.control.publish import PRUNE_FAILED, Announcer, Writer
from runner.errors import ConflictError, KindAbsentError, KubeError, LeadershipLostError, NotFoundError
from runner.execute.outcome import Outcome
from runner.kube.discovery import ObjectsApi
from runner.objects import (
    PREFIX,
    PRIMARY,
    PRIMARY_TYPE,
    GroupVersionKind,
    ObjectKey,
    ObjectMeta,
    Owner,
    texts,
    uid_of,
)

KEEP = PREFIX + "prune"
"""On a dependent: with any value but "true" it is never pruned."""
MOST_PLACES = 200
"""Of one custom resource, whose annotation others may edit."""
HELM = ("meta.helm.sh/release-name", "owner", "helm")
"""What Helm keeps account of itself: an annotation of its objects, label and value of its own."""
_PLACE = re.compile(r"(?:([^/@\s]+)/)?([^/@\s]+)/([^/@\s]+)@([^/@\s]*)")
log = structlog.get_logger(__name__)
Name = tuple[str, str, str]
"""Plural of the kind, namespace, name."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A kind, and the namespace that dependents of it are in; empty where they are cluster-scoped."""

    gvk: GroupVersionKind
    namespace: str

    def __str__(self) -> str:
        return f"{self.gvk.api_version}/{self.gvk.kind}@{self.namespace}"


def places_of(text: str) -> frozenset[Place]:
    """What the annotation says; what nobody can read of it is left out."""
    found = (_PLACE.fullmatch(part.strip()) for part in text.split(","))
    places = {Place(GroupVersionKind(match[1] or "", match[2], match[3]), match[4]) for match in found if match}
    return frozenset(sorted(places)[:MOST_PLACES])


def text_of(places: Iterable[Place]) -> str:
    return ",".join(map(str, sorted(places)))


def reason_not_to(outcome: Outcome, part: str) -> str:
    """Why a run does not show what is still wanted; empty where it does. `part` names the option that
    makes runs only a part of their content, if one does.
    """
    if not outcome.succeeded or outcome.stats is None:
        return "it failed"
    if part:
        return f"{part} left out a part of it"
    if outcome.requeue_after:
        return "it asked to be called again, and may not have come to its end"
    if outcome.forgiven:
        return "a task of it failed, and was rescued or ignored"
    if not (outcome.stats.ok or outcome.stats.skipped):
        return "it had no task"
    return ""


class Touched(Protocol):
    """What a run has dealt with."""

    @property
    def names(self) -> Collection[Name]: ...

    @property
    def written(self) -> Collection[Name]: ...

    def unclear(self, plural: str) -> bool: ...


class Grant(Protocol):
    """What lets a run pass the API proxy, which notes what the run deals with."""

    @property
    def owner(self) -> Owner: ...

    def take_account(self, on_write: Callable[[GroupVersionKind, str], Awaitable[None]]) -> Touched: ...

    async def deleted(self, deletion: Awaitable[object]) -> None: ...


def is_own(meta: ObjectMeta, owner: Owner) -> bool:
    """Whether the object names this custom resource as its owner, and nobody else."""
    if any(ref.uid != owner.uid for ref in meta.owners):
        return False
    annotations = dict(meta.annotations)
    if PRIMARY not in annotations and PRIMARY_TYPE not in annotations:
        return bool(meta.owners)
    where = f"{owner.namespace}/{owner.name}" if owner.namespace else owner.name
    kind = f"{owner.gvk.kind}.{owner.gvk.group}" if owner.gvk.group else owner.gvk.kind
    return (annotations.get(PRIMARY), annotations.get(PRIMARY_TYPE)) == (where, kind)


def is_kept(meta: ObjectMeta) -> bool:
    """Whether the object is never pruned, or is going already."""
    annotations, (released, label, helm) = dict(meta.annotations), HELM
    by_helm = released in annotations or dict(meta.labels).get(label) == helm
    return by_helm or annotations.get(KEEP, "true") != "true" or meta.deletion is not None


def holds_more(plural: str, name: str, touched: Collection[Name]) -> bool:
    """Whether much else would go with the object: all of a kind, or of a namespace that the run works in."""
    if plural == "customresourcedefinitions":
        return True
    return plural == "namespaces" and any(namespace == name for _, namespace, _ in touched)


@dataclass(slots=True)
class Account:
    """Of one run: where dependents of its custom resource may be, and what it has dealt with.

    `left` are the dependents that were there after the run before; None where nobody knows.
    """

    attempt: Attempt
    run: UnderWay
    grant: Grant
    places: set[Place]
    left: frozenset[Name] | None
    touched: Touched = field(init=False)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class Found:
    """Dependents that are superfluous, those that stay, and what went wrong."""

    superfluous: list[tuple[ObjectKey, ObjectMeta]] = field(default_factory=list)
    staying: set[Name] = field(default_factory=set)
    pruned: list[ObjectKey] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def sort(self, place: Place, plural: str, metas: Iterable[ObjectMeta], owner: Owner, touched: Touched) -> None:
        """Decide what becomes of the objects of one place."""
        for meta in metas:
            if meta.uid == owner.uid or not is_own(meta, owner):
                continue
            name = (plural, meta.namespace, meta.name)
            wanted = name in touched.names or touched.unclear(plural)
            if wanted or is_kept(meta) or holds_more(plural, meta.name, touched.names):
                self.staying.add(name)
            else:
                self.superfluous.append((ObjectKey(place.gvk, meta.namespace, meta.name), meta))


async def look(objects: ObjectsApi, places: Iterable[Place], owner: Owner, touched: Touched) -> Found:
    """What a run has left over of its custom resource's dependents in these places."""
    found = Found()
    for place in sorted(places):
        try:
            plural, metas = await objects.metadata(place.gvk, place.namespace)
        except (KindAbsentError, NotFoundError):
            continue  # the kind is gone, and its objects with it
        except LeadershipLostError:
            raise
        except KubeError as error:
            found.problems.append(f"{place.gvk.kind}s cannot be listed: {error}")
        else:
            found.sort(place, plural, metas, owner, touched)
    return found


class Pruning:
    """Keeps account of runs, and deletes what they leave over."""

    def __init__(self, objects: ObjectsApi, writer: Writer, announcer: Announcer) -> None:
        self._objects = objects
        self._writer = writer
        self._announcer = announcer
        self._left: dict[ObjectKey, frozenset[Name]] = {}
        self._known: dict[GroupVersionKind, set[GroupVersionKind]] = {}

    def forget(self, key: ObjectKey) -> None:
        self._left.pop(key, None)

    def begin(self, attempt: Attempt, run: UnderWay, grant: Grant) -> Account:
        """A run begins, which lasts until `end`."""
        annotations = texts(run.body["metadata"].get("annotations"))
        # Whatever ends this run, only its own success says anew what is there.
        left = self._left.pop(attempt.key, None)
        account = Account(attempt, run, grant, set(places_of(annotations.get(PLACES, ""))), left)
        account.touched = grant.take_account(partial(self._write_down, account))
        return account

    async def end(self, account: Account, outcome: Outcome, part: str) -> None:
        """Delete what is superfluous, if the run shows what is; `part` as for `reason_not_to`."""
        why = reason_not_to(outcome, part)
        if not why:
            await self._prune(account)
        elif outcome.succeeded:
            log.info("Nothing pruned", key=str(account.attempt.key), why=why)

    async def _write_down(self, account: Account, kind: GroupVersionKind, namespace: str) -> None:
        """What others of its kind have in their namespace is likely to follow: one write for all."""
        place, key = Place(kind, namespace), account.attempt.key
        if place in account.places:
            return
        async with account.lock:
            if place in account.places or len(account.places) >= MOST_PLACES:
                return
            known = self._known.setdefault(key.gvk, set())
            known |= {kind} if namespace == key.namespace else set()
            wanted = account.places | {place} | {Place(gvk, key.namespace) for gvk in known}
            await self._annotate(account, wanted)
            account.places = wanted

    async def _annotate(self, account: Account, places: Collection[Place]) -> None:
        key, run = account.attempt.key, account.run
        try:
            body = await self._writer.annotate(
                key, run.body, PLACES, lambda before: text_of({*places_of(before), *places})
            )
            run.body = body or run.body
        except LeadershipLostError:
            raise
        except KubeError as error:
            lost = "What a run writes will not be pruned if the operator is restarted first: it could not be noted"
            log.warning(lost, key=str(key), places=text_of(places), error=str(error))

    async def _prune(self, account: Account) -> None:
        key, touched = account.attempt.key, account.touched
        if account.left is not None and account.left <= set(touched.names):
            self._left[key] = account.left | frozenset(touched.written)
            return  # all that was there is wanted still
        found = await look(self._objects, account.places, account.grant.owner, touched)
        for child, meta in found.superfluous:
            await self._delete(child, meta, found, account.grant)
        if len(found.pruned) == len(found.superfluous) and not found.problems:
            self._left[key] = frozenset(found.staying)
        self._tell(account.attempt, found)

    async def _delete(self, key: ObjectKey, meta: ObjectMeta, found: Found, grant: Grant) -> None:
        try:
            await grant.deleted(self._objects.remove(key, meta))
        except (ConflictError, NotFoundError) as error:  # somebody else is at it: the next run looks again
            log.debug("not pruned", key=str(key), error=str(error))
        except LeadershipLostError:
            raise
        except KubeError as error:
            found.problems.append(f"{key} cannot be deleted: {error}")
        else:
            found.pruned.append(key)

    def _tell(self, attempt: Attempt, found: Found) -> None:
        uid = uid_of(attempt.body or {"metadata": {}})
        attempt.pruned = tuple(found.pruned)
        self._announcer.pruned(attempt.key, uid, found.pruned)
        if found.problems:
            log.warning("Not all could be pruned", key=str(attempt.key), problems=found.problems)
        self._announcer.warned(attempt.key, uid, tuple(found.problems), PRUNE_FAILED)
