"""Decides what becomes of a custom resource's objects after a run of it. Pure.

Whenever the answer is in doubt, the object stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Protocol

from runner.control.annotations import Annotations, Bounds
from runner.execute.outcome import Outcome
from runner.marks import ObjectName
from runner.objects import (
    PREFIX,
    PRIMARY,
    PRIMARY_TYPE,
    Body,
    GroupVersionKind,
    ObjectKey,
    ObjectMeta,
    Owner,
    generation_of,
    texts,
    uid_of,
)

KEEP = PREFIX + "prune"
"""On an object: with any value but "true" it is never pruned."""
MOST_SCOPES = 200
"""Of one custom resource."""
_HELM = ("helm.sh/", "meta.helm.sh/")
"""Annotations of what Helm installs, hooks and kept objects included, begin so."""
_HELM_LABELS = {"owner": "helm", "app.kubernetes.io/managed-by": "Helm"}
"""Labels of Helm's records of releases, and of what its charts install."""
_EVENTS = "events"
_SCOPE = re.compile(r"(?:([^/@\s]+)/)?([^/@\s]+)/([^/@\s]+)@([^/@\s]*)")
Name = tuple[str, str, str]
"""Plural of the kind, namespace, name."""
Creator = Callable[[Mapping[str, str], ObjectName], str]
"""The UID of the custom resource whose run provably created the object with these annotations; empty for none."""


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """A kind, and a namespace that holds objects of it; empty for a cluster-scoped kind."""

    gvk: GroupVersionKind
    namespace: str

    def __str__(self) -> str:
        return f"{self.gvk.api_version}/{self.gvk.kind}@{self.namespace}"


def scopes_of(text: str) -> frozenset[Scope]:
    """The scopes that an annotation lists; unreadable parts are left out."""
    matches = (_SCOPE.fullmatch(part.strip()) for part in text.split(","))
    scopes = {Scope(GroupVersionKind(match[1] or "", match[2], match[3]), match[4]) for match in matches if match}
    return frozenset(sorted(scopes)[:MOST_SCOPES])


def text_of(scopes: Iterable[Scope]) -> str:
    """The list of these scopes, for an annotation."""
    return ",".join(map(str, sorted(scopes)))


def reason_not_to_prune(outcome: Outcome, part: str) -> str:
    """Why a run doesn't show everything that is still wanted; empty if it does.

    `part` names the option that makes runs perform only a part of their content, if one does.
    """
    if not outcome.succeeded or outcome.stats is None:
        return "it failed"
    reasons = {
        f"{part} left out a part of it": bool(part),
        "it asked to be called again, and may not have come to its end": outcome.requeue_after is not None,
        "a task of it failed, and was rescued or ignored": outcome.forgiven > 0,
        outcome.left_out: bool(outcome.left_out),
        "it had no task": not (outcome.stats.ok or outcome.stats.skipped),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def reason_to_wait(before: Body, now: Body, moment: datetime, *, annotations_count: bool) -> str:
    """Why a run on the custom resource `before` doesn't show what is wanted `now`; empty if it does.

    `annotations_count` says that the custom resource's annotations matter to its role.
    """
    annotations = Annotations(now["metadata"], Bounds())
    reasons = {
        "another custom resource has its name now": uid_of(now) != uid_of(before),
        "the custom resource is being deleted": bool(now["metadata"].get("deletionTimestamp")),
        "the custom resource's spec changed during the run": generation_of(now) != generation_of(before)
        or _content(before) != _content(now),
        "the custom resource's labels changed during the run": _labels(before) != _labels(now),
        "the custom resource was paused during the run": annotations.pause(moment) is not None,
        "the custom resource asks for check runs now": annotations.checks(),
        "the custom resource's annotations changed during the run": annotations_count
        and _steering(before) != _steering(now),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _content(body: Body) -> dict[str, object]:
    """Everything that people write: kinds without a generation have no other sign of a change."""
    return {name: value for name, value in body.items() if name not in ("metadata", "status")}


def _labels(body: Body) -> dict[str, str]:
    return texts((body.get("metadata") or {}).get("labels"))


def _steering(body: Body) -> dict[str, str]:
    """The annotations that people set."""
    annotations = texts((body.get("metadata") or {}).get("annotations"))
    return {name: value for name, value in annotations.items() if not name.startswith(PREFIX)}


class Fate(Enum):
    """What becomes of an object after a run."""

    FOREIGN = "it isn't the custom resource's alone"
    KEPT = "it stays"
    UNPROVEN = "nothing proves that a run of this resource created it"
    UNCLEAR = "the run may have been shown it, by a watch, a table or a request that was refused"
    SUPERFLUOUS = "it is deleted"


class RunObjects(Protocol):
    """The objects that a run has written or read."""

    @property
    def names(self) -> Collection[Name]: ...

    def unclear(self, plural: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides for the objects of one custom resource after one run."""

    owner: Owner
    run_objects: RunObjects
    creator: Creator

    def fate(self, scope: Scope, plural: str, meta: ObjectMeta) -> Fate:
        """What becomes of one object in a scope."""
        if meta.uid == self.owner.uid or not is_own(meta, self.owner):
            return Fate.FOREIGN
        used = (plural, meta.namespace, meta.name) in self.run_objects.names
        if used or is_protected(meta) or self._holds_more(plural, meta.name):
            return Fate.KEPT
        name = ObjectName.of(scope.gvk, meta.namespace, meta.name)
        if self.creator(dict(meta.annotations), name) != self.owner.uid:
            return Fate.UNPROVEN
        return Fate.UNCLEAR if self.run_objects.unclear(plural) else Fate.SUPERFLUOUS

    def _holds_more(self, plural: str, name: str) -> bool:
        """Whether much else goes with the object, or nothing depends on it: Events go by themselves."""
        if plural in ("customresourcedefinitions", _EVENTS):
            return True
        return plural == "namespaces" and any(namespace == name for _, namespace, _ in self.run_objects.names)


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


def is_protected(meta: ObjectMeta) -> bool:
    """Whether somebody asked to keep the object, Helm keeps account of it, or its deletion has begun."""
    annotations, labels = dict(meta.annotations), dict(meta.labels)
    by_helm = any(name.startswith(_HELM) for name in annotations) or any(
        labels.get(label) == value for label, value in _HELM_LABELS.items()
    )
    return by_helm or annotations.get(KEEP, "true") != "true" or meta.deletion is not None


@dataclass(slots=True)
class Findings:
    """The objects of all scopes by what becomes of them, and the scopes that couldn't be listed.

    `remaining` are those that a later run may find superfluous.
    """

    superfluous: list[tuple[ObjectKey, ObjectMeta]] = field(default_factory=list)
    remaining: set[Name] = field(default_factory=set)
    doubtful: list[tuple[ObjectKey, Fate]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, judge: Judge, scope: Scope, plural: str, metas: Iterable[ObjectMeta]) -> None:
        """Sort the objects of one scope."""
        for meta in metas:
            key = ObjectKey(scope.gvk, meta.namespace, meta.name)
            fate = judge.fate(scope, plural, meta)
            if fate is Fate.SUPERFLUOUS:
                self.superfluous.append((key, meta))
            if fate in (Fate.UNPROVEN, Fate.UNCLEAR):
                self.doubtful.append((key, fate))
            if fate in (Fate.KEPT, Fate.UNCLEAR):
                self.remaining.add((plural, meta.namespace, meta.name))
