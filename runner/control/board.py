"""What becomes of each custom resource while an author works on its role: the rows of the live table.

Told of changes, reconciles, runs and their events as they go; it only remembers, and whoever draws asks it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from runner.control.attempt import Attempt, Result, Verdict
from runner.control.narrator import cause, duration, next_try, task_name
from runner.control.pause import PAUSED, pause_of
from runner.control.reasons import OF_OTHERS, told
from runner.control.request import Reasons, Trigger
from runner.execute.run import TASK_STARTS, Event, Run
from runner.kube.listwatch import Change
from runner.objects import GroupVersionKind, ObjectKey

_FAILURES = frozenset({"runner_on_failed", "runner_on_unreachable"})
_SHORTLY = {
    Trigger.DELETING: "it is being deleted",
    Trigger.GONE: "it was deleted",
    Trigger.CREATED: "created",
    Trigger.CHANGED: "spec changed",
    Trigger.REQUESTED: "asked for",
    Trigger.ANNOTATED: "annotations changed",
    Trigger.SELECTED: "labels selected",
    Trigger.CONTENT: "saved",
    Trigger.REFERENCE: "reference changed",
    Trigger.DEPENDENT: "dependent changed",
    Trigger.DEPENDENT_STATUS: "dependent's value",
    Trigger.REQUEUED: "role asked for it",
    Trigger.RETRY: "next try",
    Trigger.PERIOD: "period over",
    Trigger.START: "operator started",
    Trigger.DRIFT: "drift period over",
}


class State(StrEnum):
    """What is the matter with a custom resource; what is worth looking at first comes first."""

    RUNNING = "running"
    FAILING = "failing"
    INTERRUPTED = "interrupted"
    WAITING = "no run yet"
    PAUSED = "paused"
    CHECKED = "checked"
    SUCCESSFUL = "successful"


_ORDER = {state: number for number, state in enumerate(State)}


@dataclass(frozen=True, slots=True)
class Row:
    """One custom resource. `why` its run takes, or took, place; `task` is the one that is running, and its place.

    `since` is the moment (of the monotonic clock) at which the run under way began, `took` the seconds of the last
    one; `last` is how that ended, `failure` why it failed, in full; `again` is the moment of the next try.
    """

    key: ObjectKey
    state: State = State.WAITING
    why: str = ""
    task: str = ""
    since: float = 0.0
    took: float | None = None
    last: str = ""
    failure: str = ""
    again: float | None = None

    def seconds(self, now: float) -> str:
        """How long the run under way has taken by now, or the last one took."""
        if self.state is State.RUNNING:
            return duration(now - self.since)
        return "" if self.took is None else duration(self.took)

    def doing(self, now: float) -> str:
        """The task that is running, or what came of the last run."""
        if self.state is State.RUNNING:
            return self.task or "starting"
        coming = next_try(self.again - now) if self.again is not None and self.again > now else ""
        return ": ".join(filter(None, (coming, self.last)))


class Board:
    """`root` is the directory that people work in, to which paths are relative; `on_change` is called at changes.

    `files` holds what is wrong with files as they were saved last, by the path that people are shown.
    """

    def __init__(self, root: Path, seconds: Callable[[], float] = time.monotonic) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self.files: dict[str, tuple[str, ...]] = {}
        self._root = root
        self._seconds = seconds
        self._rows: dict[ObjectKey, Row] = {}
        self._failed: dict[ObjectKey, str] = {}

    def rows(self, most: int | None = None) -> list[Row]:
        """By kind and name; of more than `most`, those that are worth looking at first."""
        rows = sorted(self._rows.values(), key=lambda row: (_ORDER[row.state], row.key))
        return sorted(rows[:most], key=lambda row: row.key)

    def counts(self) -> dict[State, int]:
        """How many custom resources are in which state; none that nothing is in."""
        found = Counter(row.state for row in self._rows.values())
        return {state: found[state] for state in State if found[state]}

    def only(self, kinds: Collection[GroupVersionKind]) -> None:
        """Forget custom resources of other kinds: nobody watches them any more."""
        self._rows = {key: row for key, row in self._rows.items() if key.gvk in kinds}
        self.on_change()

    def mistakes(self, file: str, problems: Collection[str]) -> None:
        """What is wrong with a file as it is now; nothing, once it is mended."""
        self.files.pop(file, None)
        if problems:
            self.files[file] = tuple(problems)
        self.on_change()

    def changed(self, change: Change) -> None:
        """A custom resource appeared, changed or is gone."""
        meta = change.new or change.old
        if meta is None:
            return
        key = ObjectKey(change.gvk, meta.namespace, meta.name)
        if change.new is None:
            self._rows.pop(key, None)
        else:
            self._rows.setdefault(key, Row(key))
        self.on_change()

    def started(self, attempt: Attempt) -> None:
        """A run is about to start."""
        key, why = attempt.key, because(attempt.request.reasons, attempt.request.triggers)
        why = why.replace(f" {key.namespace}/", " ")  # other objects are usually beside it
        self._rows.setdefault(key, Row(key))
        self._put(key, state=State.RUNNING, why=why, task="", since=self._seconds(), again=None)

    def __call__(self, run: Run, event: Event) -> None:
        """Take note of the task that has begun, or failed."""
        kind, data = event.get("event"), event.get("event_data") or {}
        if kind in TASK_STARTS:
            self._put(run.key, task=_without_place_elsewhere(task_name(event, self._root)))
        elif kind in _FAILURES and not data.get("ignore_errors"):
            self._failed[run.key] = task_name(event, self._root)

    def finished(self, attempt: Attempt, result: Result) -> None:
        """A reconcile has ended."""
        key, took = attempt.key, attempt.stopwatch.stages().seconds
        failed = self._failed.pop(key, "")
        match result.verdict:
            case Verdict.GONE:
                self._rows.pop(key, None)
                self.on_change()
            case Verdict.FAILED:
                why = cause(attempt.failure, failed)
                self._put(key, state=State.FAILING, took=took, failure=why, last=why)
            case Verdict.SUCCEEDED | Verdict.REQUEUED:
                self._put(key, state=State.SUCCESSFUL, took=took, failure="", last=_counts(attempt))
            case Verdict.CHECKED:
                self._put(key, state=State.CHECKED, took=took, failure="", last="nothing was changed")
            case Verdict.CANCELLED:
                self._put(key, state=State.INTERRUPTED, took=took, last="ended unfinished")
            case Verdict.SKIPPED if _is_paused(attempt):
                self._put(key, state=State.PAUSED)
            case Verdict.SKIPPED:
                self._put(key)

    def followed(self, key: ObjectKey, delay: float | None) -> None:
        """What follows a reconcile: it comes again in so many seconds, or not by itself."""
        row = self._rows.get(key)
        if row is not None and delay is not None and row.state is State.FAILING:
            self._put(key, again=self._seconds() + delay)

    def _put(self, key: ObjectKey, **values: object) -> None:
        if key in self._rows:  # else it was deleted meanwhile
            self._rows[key] = replace(self._rows[key], **values)  # type: ignore[arg-type]
            self.on_change()


def because(reasons: Reasons, triggers: Collection[Trigger]) -> str:
    """Why a run takes place, in few words: the most urgent reason, with the object that it has to do with."""
    if not reasons.first:
        return _SHORTLY[min(triggers, key=lambda trigger: (trigger.priority, trigger))]
    reason = min(reasons.first, key=lambda reason: reason.trigger.priority)
    return told(reason) if reason.trigger in OF_OTHERS else _SHORTLY[reason.trigger]


def _without_place_elsewhere(task: str) -> str:
    """A task of the play that is made around a role has a place that says nothing to its author."""
    name, _, place = task.rpartition(" (")
    return name if name and place.startswith("/") else task


def _counts(attempt: Attempt) -> str:
    stats = attempt.outcome.stats if attempt.outcome else None
    return f"{stats.ok} ok, {stats.changed} changed" if stats else ""


def _is_paused(attempt: Attempt) -> bool:
    annotations = ((attempt.body or {}).get("metadata") or {}).get("annotations") or {}
    return pause_of(annotations.get(PAUSED), attempt.now()) is not None
