"""What a person on a terminal reads of runs: why each starts, what it changes, what fails, and how it ends.

A failure is told in full once. While its object fails in the same way, a repetition is one line: what there would
be to say of such a run is held back, and said only if the run ends otherwise, or takes long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog

from runner.control.attempt import Attempt, Result, Verdict
from runner.control.request import Trigger
from runner.execute.outcome import Stats
from runner.execute.run import Event, Run
from runner.objects import ObjectKey

HELD = 10.0
"""Seconds that the lines of a repetition are held back."""

_REASONS = {
    Trigger.DELETING: "it is being deleted",
    Trigger.GONE: "it was deleted",
    Trigger.CREATED: "it was created",
    Trigger.CHANGED: "its spec changed",
    Trigger.REQUESTED: "it was asked for",
    Trigger.ANNOTATED: "its annotations changed",
    Trigger.SELECTED: "its labels are selected now",
    Trigger.CONTENT: "its role or playbook was saved",
    Trigger.REFERENCE: "an object that it refers to changed",
    Trigger.DEPENDENT: "a dependent changed",
    Trigger.DEPENDENT_STATUS: "a value of a dependent changed",
    Trigger.REQUEUED: "the role asked to be run again",
    Trigger.RETRY: "the last try failed",
    Trigger.PERIOD: "its period is over",
    Trigger.START: "the operator was started",
    Trigger.DRIFT: "its drift period is over",
}
_AGAIN = frozenset({Trigger.RETRY, Trigger.REQUEUED, Trigger.PERIOD})
_FAILURES = {"runner_on_failed": "failed", "runner_on_unreachable": "unreachable"}


def reason(triggers: Iterable[Trigger]) -> str:
    """Why a run starts, the most urgent reason first; none that would have come later by itself, beside others."""
    asked = set(triggers)
    shown = sorted(asked - _AGAIN or asked, key=lambda one: (one.priority, one))
    return " and ".join(_REASONS[trigger] for trigger in shown)


def duration(seconds: float) -> str:
    """As a person says it."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def relative(path: str, root: Path) -> str:
    """The path as one would type it in `root`."""
    return path.removeprefix(f"{root}/")


def task_line(event: Event, root: Path) -> str:
    """What to say of the end of a task; nothing ("") of one that changed nothing."""
    data = event.get("event_data") or {}
    kind, result = event.get("event"), data.get("res")
    verb = _FAILURES.get(str(kind), "")
    if kind == "runner_on_ok" and isinstance(result, dict) and result.get("changed") is True:
        verb = "changed"
    if not verb:
        return ""
    seconds = data.get("duration")
    took = f", {duration(seconds)}" if isinstance(seconds, int | float) else ""
    ignored = ", which the role ignores" if data.get("ignore_errors") is True else ""
    return f"{verb}: {task_name(event, root)}{took}{ignored}"


def task_name(event: Event, root: Path) -> str:
    data = event.get("event_data") or {}
    name = str(data.get("task", "")).removeprefix(f"{data.get('role')} : ")
    path = str(data.get("task_path") or "")
    return f"{name} ({relative(path, root)})" if path else name


def success(key: ObjectKey, seconds: float, stats: Stats | None, again: float | None) -> str:
    """How a good run ended; `again` is in how many seconds the role asked to be run again."""
    counts = f" ({stats.ok} ok, {stats.changed} changed)" if stats else ""
    return f"{key}: succeeded in {duration(seconds)}{counts}" + (f", again in {duration(again)}" if again else "")


def cause(message: str, task: str) -> str:
    """What went wrong, and where, if the message does not say so by itself."""
    name, _, place = task.removesuffix(")").rpartition(" (")
    known = not task or (place in message and bool(name)) or (bool(name) and name in message)
    return message if known else f"{message} ({name}, {place})" if name else f"{message} ({task})"


def next_try(delay: float | None) -> str:
    """When the next try is."""
    if delay is None:
        return ""
    return "next try at once" if delay < 1 else f"next try in {duration(round(delay))}"


@dataclass(frozen=True, slots=True)
class Failing:
    """How an object fails, and how often it did so in a row."""

    what: str
    times: int = 1

    def again(self, what: str) -> Failing:
        """After one more failure."""
        return Failing(what, self.times + 1) if what == self.what else Failing(what)


@dataclass(slots=True)
class _Telling:
    """A run under way: since when, what of it is held back, and the task that failed last."""

    began: float
    held: list[str] | None = None
    failed: str = ""


class Narrator:
    """Says it; of single tasks only if `tasks`.

    `output` is where a run's whole output is kept, `root` the directory that people work in.
    """

    def __init__(
        self,
        output: Callable[[Run], Path],
        root: Path,
        seconds: Callable[[], float] = time.monotonic,
        *,
        tasks: bool = True,
    ) -> None:
        self._output = output
        self._tasks = tasks
        self._root = root
        self._seconds = seconds
        self._runs: dict[str, _Telling] = {}
        self._failing: dict[ObjectKey, Failing] = {}
        self._failed: dict[ObjectKey, Attempt] = {}
        self._log = structlog.get_logger("runner.runs")

    def started(self, attempt: Attempt) -> None:
        """A run is about to start."""
        if attempt.run is None:
            return
        again = attempt.key in self._failing and attempt.request.triggers <= _AGAIN
        telling = self._runs[attempt.run.ident] = _Telling(self._seconds(), [] if again else None)
        content = relative(str(attempt.content.path), self._root)
        triggers = {one.trigger for one in attempt.request.reasons.first} or attempt.request.triggers
        self._tell(telling, f"{attempt.key}: running {content}, because {reason(triggers)}")

    def __call__(self, run: Run, event: Event) -> None:
        """Take note of an event of a run."""
        telling = self._runs.get(run.ident)
        if telling is None or not (line := task_line(event, self._root)):
            return
        if event.get("event") in _FAILURES and not (event.get("event_data") or {}).get("ignore_errors"):
            telling.failed = task_name(event, self._root)
        if self._tasks:
            self._tell(telling, f"{run.key}: {line}")

    def finished(self, attempt: Attempt, result: Result) -> None:
        """A reconcile has ended; of one that failed is told when it is known what follows."""
        key, verdict = attempt.key, result.verdict
        if verdict is Verdict.FAILED:
            self._failed[key] = attempt
            return
        telling = self._end(attempt)
        if verdict is Verdict.SKIPPED:
            return
        self._failing.pop(key, None)
        if verdict is Verdict.GONE:
            return
        self._release(telling)
        seconds = attempt.stopwatch.stages().seconds
        if verdict is Verdict.CANCELLED:
            self._log.warning(f"{key}: ended unfinished after {duration(seconds)}, because the operator stops")
            return
        if attempt.pruned:
            self._log.info(
                f"{key}: pruned {', '.join(map(str, attempt.pruned))}, which the run no longer produced"
            )
        again = result.after if result.trigger is Trigger.REQUEUED else None
        self._log.info(success(key, seconds, attempt.outcome.stats if attempt.outcome else None, again))

    def followed(self, key: ObjectKey, delay: float | None) -> None:
        """What follows a reconcile: it comes again in so many seconds, or not by itself."""
        attempt = self._failed.pop(key, None)
        if attempt is None:
            return
        telling = self._end(attempt)
        known = self._failing.get(key)
        what = cause(attempt.failure, telling.failed)
        failing = self._failing[key] = known.again(what) if known else Failing(what)
        if failing.times > 1:
            line = f"{key}: failed again, the same, {ordinal(failing.times)} time"
            self._log.error(", ".join(filter(None, (line, next_try(delay)))))
            return
        self._release(telling)
        self._log.error(self._in_full(attempt, what, delay))

    def _in_full(self, attempt: Attempt, what: str, delay: float | None) -> str:
        took = duration(attempt.stopwatch.stages().seconds)
        verb = f"failed after {took}" if attempt.run else "cannot be reconciled"
        then = [text for text in (next_try(delay),) if text]
        if attempt.run:
            then.append(f"whole output: {self._output(attempt.run)}")
        return f"{attempt.key}: {verb}: {what}" + (f"\n{', '.join(then)}" if then else "")

    def _end(self, attempt: Attempt) -> _Telling:
        telling = self._runs.pop(attempt.run.ident, None) if attempt.run else None
        return telling or _Telling(self._seconds())

    def _tell(self, telling: _Telling, line: str) -> None:
        if telling.held is not None and self._seconds() - telling.began > HELD:
            self._release(telling)
        if telling.held is None:
            self._log.info(line)
        else:
            telling.held.append(line)

    def _release(self, telling: _Telling) -> None:
        for line in telling.held or ():
            self._log.info(line)
        telling.held = None
