"""Prunes: after a successful and complete run, deletes what earlier runs created and this run left out.

Only an object with a valid mark of this very custom resource is deleted (`runner.marks`). A signed annotation on
the custom resource lists the scopes that its objects are in, and is written before the first object exists there:
neither a restart nor a kill of the operator forgets a scope, and nobody else can add one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import structlog

from runner.control.attempt import Attempt, UnderWay
from runner.control.pause import PLACES
from runner.control.publish import NOT_PRUNED, PLACES_LOST, PRUNE_FAILED, Announcer, Writer
from runner.control.superfluous import (
    MOST_SCOPES,
    Findings,
    Judge,
    Name,
    RunObjects,
    Scope,
    is_own,
    reason_not_to_prune,
    reason_to_wait,
    scopes_of,
    text_of,
)
from runner.errors import (
    ConflictError,
    KindAbsentError,
    KubeError,
    LeadershipLostError,
    NotFoundError,
    without_account,
)
from runner.execute.outcome import Outcome
from runner.kube.discovery import ObjectsApi
from runner.marks import MARK, Marks, ObjectName
from runner.objects import Body, GroupVersionKind, ObjectKey, ObjectMeta, Owner, texts, uid_of

PRUNED_WITHIN = 30.0
"""Seconds that listing and deleting may take after one run; the next run goes on."""
MOST_LISTED = 50_000
"""Objects that are looked at after one run."""
MOST_ADOPTED = 200
"""Objects that one run adopts; the next run goes on."""
_NAMED = 10
"""Objects that an Event names."""
_SHOWN = 500
"""Characters of an annotation that an Event shows."""
log = structlog.get_logger(__name__)


class Unmarked(Protocol):
    """An object without a mark; `created` if a request of the run created it."""

    @property
    def key(self) -> ObjectKey: ...

    @property
    def meta(self) -> ObjectMeta: ...

    @property
    def created(self) -> bool: ...


class Touched(RunObjects, Protocol):
    """The objects that a run has written or read."""

    @property
    def written(self) -> Collection[Name]: ...

    @property
    def unmarked(self) -> Mapping[Name, Unmarked]:
        """Those that the run wrote and that have no valid mark, as last answered."""

    @property
    def unanswered(self) -> str:
        """The first request of the run that the API server failed to answer; empty if there is none."""


class Grant(Protocol):
    """A run's permission to pass the API proxy, which notes what the run deals with."""

    @property
    def owner(self) -> Owner: ...

    async def key(self) -> Marks | None: ...

    def take_account(
        self, on_write: Callable[[GroupVersionKind, str], Awaitable[None]], marks: Marks
    ) -> Touched: ...

    async def own_write(self, method: str, write: Awaitable[object]) -> None: ...


@dataclass(slots=True)
class PruneState:
    """Of one run: the scopes of its custom resource's objects, and the objects that it deals with.

    `body` is the custom resource that the run is about; `before` are the objects that remained after the previous
    run, None if unknown.
    """

    attempt: Attempt
    run: UnderWay
    grant: Grant
    marks: Marks
    body: Body
    scopes: set[Scope]
    before: frozenset[Name] | None
    touched: Touched = field(init=False)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def key(self) -> ObjectKey:
        return self.attempt.key

    @property
    def uid(self) -> str:
        return self.grant.owner.uid


async def find(objects: ObjectsApi, scopes: Iterable[Scope], judge: Judge) -> Findings:
    """List the scopes, and sort what is in them."""
    findings, left = Findings(), MOST_LISTED
    for scope in sorted(scopes):
        try:
            plural, metas = await objects.metadata(scope.gvk, scope.namespace, most=left)
        except (KindAbsentError, NotFoundError):
            continue  # the kind is gone, and its objects with it
        except LeadershipLostError:
            raise
        except KubeError as error:
            findings.problems.append(f"{scope.gvk.kind}s cannot be listed: {error}")
        else:
            left -= len(metas)
            findings.add(judge, scope, plural, metas)
    return findings


class Pruning:
    """Follows runs, and deletes the objects that they leave out."""

    def __init__(self, objects: ObjectsApi, writer: Writer, announcer: Announcer) -> None:
        self._objects = objects
        self._writer = writer
        self._announcer = announcer
        self._remaining: dict[ObjectKey, frozenset[Name]] = {}
        self._kinds: dict[GroupVersionKind, set[GroupVersionKind]] = {}

    def forget(self, key: ObjectKey) -> None:
        self._remaining.pop(key, None)

    async def begin(self, attempt: Attempt, run: UnderWay, grant: Grant) -> PruneState | None:
        """Follow a run until `end`; None without a key for marks: nothing is pruned then."""
        marks = await grant.key()
        # However this run ends, only its own success tells what remains.
        before = self._remaining.pop(attempt.key, None)
        if marks is None:
            return None
        if unsigned := _unsigned(run.body, marks):
            lost = (
                f"Objects in these places are not looked for, as this operator's key didn't sign them: {unsigned}"
            )
            log.warning("Places for pruning are lost", key=str(attempt.key), why=lost)
            self._announcer.noted(attempt.key, grant.owner.uid, (lost,), PLACES_LOST)
        state = PruneState(attempt, run, grant, marks, run.body, set(_scopes(run.body, marks)), before)
        state.touched = grant.take_account(partial(self._record_scope, state), marks)
        return state

    async def end(self, state: PruneState, outcome: Outcome, part: str) -> None:
        """Adopt what the run wrote, and delete what it left out, if the run shows what is wanted.

        `part` as for `reason_not_to_prune`.
        """
        if outcome.succeeded:
            await self._adopt(state)
        why = reason_not_to_prune(outcome, part) or state.touched.unanswered
        if not why:
            await self._prune(state)
        elif outcome.succeeded:
            log.info("Nothing pruned", key=str(state.key), why=why)

    async def _record_scope(self, state: PruneState, kind: GroupVersionKind, namespace: str) -> None:
        """Kinds that others of its kind have in their namespace are likely to follow: one write for all."""
        scope, key = Scope(kind, namespace), state.key
        if scope in state.scopes:
            return
        async with state.lock:
            if scope in state.scopes or len(state.scopes) >= MOST_SCOPES:
                return
            kinds = self._kinds.setdefault(key.gvk, set())
            kinds |= {kind} if namespace == key.namespace else set()
            likely = sorted({Scope(gvk, key.namespace) for gvk in kinds} - state.scopes - {scope})
            wanted = {*state.scopes, scope, *likely[: MOST_SCOPES - len(state.scopes) - 1]}
            await self._annotate(state, wanted)
            state.scopes = wanted

    async def _annotate(self, state: PruneState, scopes: Collection[Scope]) -> None:
        key, run, marks = state.key, state.run, state.marks

        def text(before: str) -> str:
            known = scopes_of(marks.unsigned(state.uid, before))
            return marks.signed(state.uid, text_of({*known, *scopes}))

        try:
            run.body = await self._writer.annotate(key, run.body, PLACES, text) or run.body
        except LeadershipLostError:
            raise
        except KubeError as error:
            lost = "What a run writes will not be pruned if the operator is restarted first: it could not be noted"
            log.warning(lost, key=str(key), places=text_of(scopes), error=str(error))

    async def _adopt(self, state: PruneState) -> None:
        """Mark objects that the run wrote and that were created without a mark."""
        written = [one for one in state.touched.unmarked.values() if _may_adopt(one, state.grant.owner)]
        try:
            async with asyncio.timeout(PRUNED_WITHIN):
                for one in written[:MOST_ADOPTED]:
                    name = ObjectName.of(one.key.gvk, one.key.namespace, one.key.name)
                    annotations = {MARK: state.marks.mark(state.uid, name)}
                    with suppress(ConflictError, NotFoundError):  # somebody else is at it
                        await state.grant.own_write(
                            "PATCH", self._objects.annotate(one.key, one.meta, annotations)
                        )
        except LeadershipLostError:
            raise
        except (KubeError, TimeoutError) as error:  # the next run that writes these objects tries again
            log.warning(
                "Not all objects could be marked", key=str(state.key), error=str(error) or "it took too long"
            )

    async def _prune(self, state: PruneState) -> None:
        key, touched = state.key, state.touched
        if state.before is not None and state.before <= set(touched.names):
            self._remaining[key] = state.before | frozenset(touched.written)
            return  # everything that remained is still wanted
        judge, findings = Judge(state.grant.owner, touched, state.marks.creator), Findings()
        pruned: list[ObjectKey] = []
        try:
            async with asyncio.timeout(PRUNED_WITHIN):
                findings = await find(self._objects, state.scopes, judge)
                why = await self._reason_to_wait(state) if findings.superfluous else ""
                for child, meta in () if why else findings.superfluous:
                    await self._delete(child, meta, state, pruned, findings.problems)
        except TimeoutError:
            findings.problems.append(f"it took longer than {PRUNED_WITHIN:g} s: the next run goes on")
            why = ""
        if len(pruned) == len(findings.superfluous) and not findings.problems:
            self._remaining[key] = frozenset(findings.remaining)
        self._report(state, findings, pruned, why)

    async def _reason_to_wait(self, state: PruneState) -> str:
        """Compare the custom resource as it is now with the one that the run was about."""
        try:
            now = await self._objects.get(state.key)
        except NotFoundError:
            return "the custom resource is gone"
        except LeadershipLostError:
            raise
        except KubeError as error:
            return f"the custom resource can't be read: {error}"
        watch, moment = state.attempt.watch, state.attempt.now()
        return reason_to_wait(state.body, now, moment, annotations_count=watch.watch_annotations)

    async def _delete(
        self, key: ObjectKey, meta: ObjectMeta, state: PruneState, pruned: list[ObjectKey], problems: list[str]
    ) -> None:
        try:
            await state.grant.own_write("DELETE", self._objects.remove(key, meta))
        except (ConflictError, NotFoundError) as error:  # somebody else is at it: the next run looks again
            log.debug("not pruned", key=str(key), error=str(error))
        except LeadershipLostError:
            raise
        except KubeError as error:
            problems.append(f"{key} cannot be deleted: {error}")
        else:
            pruned.append(key)

    def _report(self, state: PruneState, findings: Findings, pruned: Sequence[ObjectKey], why: str) -> None:
        key, uid = state.key, state.uid
        state.attempt.pruned = tuple(pruned)
        self._announcer.pruned(key, uid, pruned)
        kept = tuple(
            _kept([child for child, fate in findings.doubtful if fate is doubt], doubt.value)
            for doubt in dict.fromkeys(fate for _, fate in findings.doubtful)
        )
        if why:
            kept = (_kept([child for child, _ in findings.superfluous], why), *kept)
        for message in kept:
            log.info("Not pruned", key=str(key), why=message)
        self._announcer.noted(key, uid, tuple(map(without_account, kept)), NOT_PRUNED)
        if findings.problems:
            log.warning("Not all could be pruned", key=str(key), problems=findings.problems)
        problems = tuple(map(without_account, findings.problems))
        self._announcer.warned(key, uid, problems, PRUNE_FAILED)


def _may_adopt(written: Unmarked, owner: Owner) -> bool:
    """Tell if an object without a mark may get one after a successful run that wrote it.

    The annotation that names an owner by name isn't enough: a role may have put it there from a tenant's spec. An
    owner reference is: a user who may set it can have the garbage collector delete the object anyway.
    """
    by_uid = any(ref.uid == owner.uid for ref in written.meta.owners)
    return is_own(written.meta, owner) and (written.created or by_uid)


def _scopes(body: Body, marks: Marks) -> frozenset[Scope]:
    """The scopes that the custom resource's annotation lists; none if the operator didn't sign it."""
    annotations = texts((body.get("metadata") or {}).get("annotations"))
    return scopes_of(marks.unsigned(uid_of(body), annotations.get(PLACES, "")))


def _unsigned(body: Body, marks: Marks) -> str:
    """The places of the annotation, shortened, if nobody with this key signed them."""
    text = texts((body.get("metadata") or {}).get("annotations")).get(PLACES, "")
    if not text or marks.unsigned(uid_of(body), text):
        return ""
    listed, _, _ = text.rpartition(";")
    return "".join(filter(str.isprintable, (listed or text)[:_SHOWN]))


def _kept(keys: Sequence[ObjectKey], why: str) -> str:
    named = ", ".join(map(str, keys[:_NAMED]))
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return f"Kept, though the run no longer produces it: {named}{more} ({why})"
