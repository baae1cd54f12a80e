"""One reconcile: what it has learned so far, how it ends, and what is written and said of it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import structlog

from runner.config.watches import Content, Watch
from runner.control import pause, status
from runner.control.message import LONGEST_REFUSAL, failure_message, with_refusal
from runner.control.plan import Defaults, Paused, Perform
from runner.control.publish import FAILED, INVALID, UNMAPPED, Announcer, Decide, Writer
from runner.control.reasons import Previous
from runner.control.request import Request, Trigger
from runner.control.status import Fields, Moment, mapped, without
from runner.control.timers import Handle, Stopwatch
from runner.errors import ApiError, NestedError, NotFoundError, without_account
from runner.execute.failure import place_of
from runner.execute.outcome import Ending, Outcome
from runner.execute.run import TASK_STARTS, Event, Run, Sink
from runner.kube.discovery import ObjectsApi
from runner.objects import Json, ObjectKey, uid_of

_FAILURES = frozenset({"runner_on_failed", "runner_on_unreachable"})
log = structlog.get_logger(__name__)


class Verdict(StrEnum):
    """How a reconcile ended."""

    SUCCEEDED = "succeeded"
    REQUEUED = "requeued"
    FAILED = "failed"
    SKIPPED = "skipped"
    GONE = "gone"
    CANCELLED = "cancelled"
    CHECKED = "checked"


@dataclass(frozen=True, slots=True)
class Result:
    """How a reconcile ended and what follows: `trigger` in `after` seconds (None: nothing), or the backoff.

    `generation` is the one that was reconciled. `transient` says that it may pass by itself, so that the
    backoff stays short.
    """

    verdict: Verdict
    after: float | None = None
    trigger: Trigger = Trigger.PERIOD
    generation: int = 0
    transient: bool = False


@dataclass(slots=True)
class UnderWay:
    """A run of `content` that began at `since` (`began` of the monotonic clock), and what it has said so far.

    `task` is what Ansible told of the last task that started, `failed` the module and place of each that failed;
    `body` is the object as it was written last; `telling` is what will say, or is saying, how far the run is.
    """

    content: Content
    body: Json
    since: datetime
    began: float
    task: Mapping[str, Any] = field(default_factory=dict)
    failed: list[tuple[str, str]] = field(default_factory=list)
    telling: Handle | asyncio.Task[None] | None = None
    event: Sink | None = None

    def note(self, run: Run, event: Event) -> None:
        """Take note of an event, and pass it on to `event`."""
        kind, data = event.get("event"), event.get("event_data") or {}
        if kind in TASK_STARTS:
            self.task = data
        elif kind in _FAILURES and not data.get("ignore_errors"):
            self.failed.append((str(data.get("task_action", "")), place_of(data)))
        if self.event is not None:
            self.event(run, event)

    def ended(self) -> None:
        """Nothing more is said of it."""
        if self.telling is not None:
            self.telling.cancel()
            self.telling = None


@dataclass(slots=True)
class Attempt:
    """One reconcile under way. `generation` is the one it acts on, whatever the object's is by its end.

    `body` is the object as it was read last before the run; `failure` says why it failed, if it did; `go_messages`
    asks for the Go operator's texts; `told` is the UID that the watch had told of when this began, empty where it
    had told of none, None where nobody watches. A run is the `number`th of its generation; `previous` is how the
    one before ended; `pruned` is what was deleted because it no longer produced it.
    """

    request: Request
    watch: Watch
    stopwatch: Stopwatch
    now: Callable[[], datetime]
    go_messages: bool = False
    told: str | None = None
    generation: int = 0
    body: Json | None = None
    run: Run | None = None
    outcome: Outcome | None = None
    under_way: UnderWay | None = None
    failure: str = ""
    number: int = 0
    previous: Previous = Previous.UNKNOWN
    pruned: tuple[ObjectKey, ...] = ()

    @property
    def key(self) -> ObjectKey:
        return self.request.key

    @property
    def content(self) -> Content:
        """What is run; a finalizer may have its own."""
        return self.run.content if self.run else self.watch.content

    @property
    def moment(self) -> Moment:
        return Moment(self.now(), self.generation)


def make_run(
    attempt: Attempt, uid: str, step: Perform, variables: Mapping[str, Any], kubeconfig: str, defaults: Defaults
) -> Run:
    """The run that a step asks for."""
    return Run(
        ident=str(secrets.randbits(63)),
        key=attempt.key,
        uid=uid,
        generation=attempt.generation,
        content=step.content,
        extra_vars=variables,
        kubeconfig=kubeconfig,
        verbosity=step.verbosity,
        max_artifacts=step.max_artifacts,
        deadline=defaults.deadline,
        gather_facts=defaults.gather_facts,
        watches=defaults.watches,
        ansible_args=defaults.ansible_args,
        rescued_tasks_fail=attempt.watch.rescued_tasks_fail,
        console_verbosity=step.console_verbosity,
        engine=attempt.watch.engine or defaults.engine,
    )


@dataclass(frozen=True, slots=True)
class Listeners:
    """Told of reconciles that ended (no outcome where nothing was run), of runs that begin, and their events."""

    finished: Callable[[Attempt, Result], None]
    started: Callable[[Attempt], None] = lambda _attempt: None
    event: Sink | None = None


class Closing:
    """Every method may be repeated: what is there already is not written, or said, again."""

    def __init__(self, objects: ObjectsApi, writer: Writer, announcer: Announcer) -> None:
        self._objects = objects
        self._writer = writer
        self._announcer = announcer

    async def finish(self, attempt: Attempt, outcome: Outcome, body: Json, step: Perform) -> Result:
        """Write what came of a run; `body` is the object as it was when the run started."""
        try:
            return await self._finish(attempt, outcome, body, step)
        except ApiError as error:
            if error.transient or isinstance(error, NotFoundError):
                raise
            return await self.unwritten(attempt, body, error)

    async def _finish(self, attempt: Attempt, outcome: Outcome, body: Json, step: Perform) -> Result:
        if outcome.ending is Ending.CANCELLED:
            return await self.interrupt(attempt)
        failure = None if outcome.succeeded else failure_message(outcome, go_messages=attempt.go_messages)
        if failure is not None:
            return await self._failed(attempt, outcome, body, failure)
        again = _asked_again(outcome)
        if again is not None:
            return Result(Verdict.REQUEUED, again, Trigger.REQUEUED, attempt.generation)
        return await self._succeeded(attempt, outcome, body, step)

    async def refuse(self, attempt: Attempt, body: Json, message: str, reason: str = FAILED) -> Result:
        """Nothing was run, and `message` says why."""
        moment = attempt.moment
        await self._accepted(attempt, body, lambda current: status.refused(current, moment, message))
        return self._failing(attempt, body, message, reason)

    async def pause(self, attempt: Attempt, body: Json, step: Paused) -> Result:
        """Nothing is run, and nothing is said but that."""
        if step.pause.problem:
            self._announcer.warned(attempt.key, uid_of(body), (step.pause.problem,))
        moment = attempt.moment
        await self._accepted(attempt, body, lambda current: pause.paused(current, moment, step.pause))
        return Result(Verdict.SKIPPED, step.after, step.trigger, attempt.generation)

    async def too_deep(self, attempt: Attempt, error: NestedError) -> Result:
        """Nothing was run, because the object cannot be read as a whole."""
        if "status" in error.fields:  # a status that cannot be read cannot be written without losing some of it
            return self._failing(attempt, error.body, str(error), INVALID)
        return await self.refuse(attempt, error.body, str(error), INVALID)

    async def unwritten(self, attempt: Attempt, body: Json, error: ApiError) -> Result:
        """The API server refused for good what was to be written: say so, without what it found fault with."""
        refusal = f"The API server refused what was to be written: {without_account(str(error))}"
        log.warning("a write was refused", key=str(attempt.key), error=str(error))
        outcome, moment = attempt.outcome, attempt.moment
        if outcome is None:
            return await self.refuse(attempt, body, refusal[:LONGEST_REFUSAL])
        message = with_refusal(outcome, refusal, go_messages=attempt.go_messages)
        fields, _ = mapped(attempt.watch.status, outcome)
        for kept in (without(fields, error.fields), ()):
            if await self._accepted(attempt, body, _failure(moment, message, outcome, kept)):
                break
        return self._failing(attempt, body, message, FAILED)

    async def interrupt(self, attempt: Attempt) -> Result:
        """A run was cancelled, or Running was written for one that never started."""
        body = await self._objects.get(attempt.key)
        moment = attempt.moment
        await self._accepted(attempt, body, lambda current: status.interrupted(current, moment))
        return Result(Verdict.CANCELLED, generation=attempt.generation)

    async def _failed(self, attempt: Attempt, outcome: Outcome, body: Json, message: str) -> Result:
        fields = self._fields(attempt, outcome, body)
        await self._write(attempt, body, _failure(attempt.moment, message, outcome, fields))
        self._failing(attempt, body, message, FAILED)
        # A role that asks to be called again says when, also where it fails: it may be polling.
        return Result(Verdict.FAILED, _asked_again(outcome), Trigger.REQUEUED, attempt.generation)

    async def _succeeded(self, attempt: Attempt, outcome: Outcome, body: Json, step: Perform) -> Result:
        current: Json | None = body
        if step.finalizer is not None:
            current = await self._writer.remove_finalizer(attempt.key, body, step.finalizer)
        if current is not None:
            fields, moment = self._fields(attempt, outcome, body), attempt.moment
            current = await self._write(
                attempt, current, lambda read: status.succeeded(read, moment, outcome.stats, fields)
            )
        self._announcer.recovered(attempt.key, uid_of(body), status.failing_with(body))
        if current is None:
            return Result(Verdict.SUCCEEDED, 0.0, Trigger.GONE, attempt.generation)
        if step.finalizing:
            return Result(Verdict.SUCCEEDED, generation=attempt.generation)
        if current["metadata"].get("deletionTimestamp"):
            return Result(Verdict.SUCCEEDED, 0.0, Trigger.DELETING, attempt.generation)
        return Result(Verdict.SUCCEEDED, step.period, step.trigger, attempt.generation)

    def _failing(self, attempt: Attempt, body: Json, message: str, reason: str) -> Result:
        attempt.failure = message
        self._announcer.failed(attempt.key, uid_of(body), message, status.failing_with(body), reason)
        return Result(Verdict.FAILED, generation=attempt.generation)

    def _fields(self, attempt: Attempt, outcome: Outcome, body: Json) -> Fields:
        fields, warnings = mapped(attempt.watch.status, outcome)
        self._announcer.warned(attempt.key, uid_of(body), warnings, UNMAPPED)
        return fields

    async def _accepted(self, attempt: Attempt, body: Json, decide: Decide) -> bool:
        """Write a status; returns whether the API server took it, or there was nothing to write."""
        try:
            await self._write(attempt, body, decide)
        except ApiError as error:
            if error.transient:
                raise
            log.warning("a status was refused", key=str(attempt.key), error=str(error))
            return False
        return True

    async def _write(self, attempt: Attempt, body: Json, decide: Decide) -> Json | None:
        return await self._writer.status(attempt.key, attempt.watch, body, decide)


def _failure(moment: Moment, message: str, outcome: Outcome, fields: Fields) -> Decide:
    return lambda current: status.failed(current, moment, message, outcome.stats, fields)


def _asked_again(outcome: Outcome) -> float | None:
    """In how many seconds the role asked to be called again; 0 asks for nothing."""
    asked = outcome.requeue_after
    return asked if asked is not None and asked > 0 else None
