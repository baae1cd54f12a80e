"""What to do about a custom resource, decided from the object and its annotations as they are right now. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import datetime

from runner.config.arguments import partial_run
from runner.config.settings import Settings
from runner.config.watches import Content, Engine, Watch
from runner.control.annotations import VERBOSITY, Annotations, Bounds
from runner.control.pause import Pause, paused_since
from runner.control.reasons import completed_at
from runner.control.request import DRIFT_ONLY, Trigger
from runner.objects import Body, GroupVersionKind, texts

_START = frozenset({Trigger.START})
_CHANGE = frozenset({Trigger.CHANGED, Trigger.PERIOD, Trigger.DRIFT})
"""A change, and the periods that any object waits for meanwhile."""
_SPREAD = 0.1
_LOOK_AGAIN = 1.0
"""Seconds until what the watch lags behind is looked at again; its event comes before that, as a rule."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What applies where neither the object nor its watch says otherwise. Times are in seconds.

    Without `reconcile_at_start`, an object that a start finds reconciled rests until its period is over.
    `deadline`, `gather_facts`, `ansible_args` and `engine` go into every run as they are; `bounds` limit what
    annotations may ask for; `go_messages` asks for the Go operator's texts of failures. `partial` names what makes
    runs perform only a part of their content, if anything does; `watches` is the watches file.
    """

    reconcile_period: float = 36000.0
    verbosity: int = 2
    reconcile_at_start: bool = True
    deadline: float | None = None
    gather_facts: bool = True
    ansible_args: str = ""
    engine: Engine = Engine.AUTO
    bounds: Bounds = field(default_factory=Bounds)
    go_messages: bool = False
    partial: str = ""
    watches: str = ""


def defaults_of(settings: Settings, gvk: GroupVersionKind) -> Defaults:
    """What applies to the objects of a kind where neither they nor its watch say otherwise."""
    return Defaults(
        reconcile_period=settings.reconcile_period,
        verbosity=settings.verbosity(gvk),
        reconcile_at_start=settings.reconcile_at_start,
        deadline=settings.run_deadline,
        gather_facts=settings.gather_facts,
        ansible_args=settings.ansible_args,
        engine=Engine(settings.executor),
        bounds=Bounds(settings.min_reconcile_period, settings.max_runner_artifacts_limit),
        go_messages=settings.go_messages,
        partial=partial_run(settings.ansible_args, settings.environment),
        watches=settings.watches,
    )


@dataclass(frozen=True, slots=True)
class Occasion:
    """Why and when is decided. `spread` is a random number in -1..1, so that not all fall due together.

    The watch has `untold` the object: what it told of last was another one of that name, or none.
    """

    now: datetime
    triggers: frozenset[Trigger] = field(default_factory=frozenset)
    spread: float = 0.0
    untold: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """Do nothing, and look again after so many seconds if any are given."""

    reason: str
    after: float | None = None
    trigger: Trigger = Trigger.PERIOD


@dataclass(frozen=True, slots=True)
class Refuse:
    """Nothing can be run; `message` says in the status why."""

    message: str


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Put our finalizer on the object, then plan again with what the server answered."""

    name: str


@dataclass(frozen=True, slots=True)
class Perform:
    """Run the content. `period` is in seconds until what follows a success (`trigger`), None for never.

    `console_verbosity` is the annotation's verbosity alone, 0 without one; `check` asks for a check run.
    """

    content: Content
    period: float | None
    verbosity: int
    max_artifacts: int
    finalizer: str | None = None
    console_verbosity: int = 0
    warnings: tuple[str, ...] = ()
    trigger: Trigger = Trigger.PERIOD
    check: bool = False

    @property
    def finalizing(self) -> bool:
        """The object is being deleted: after success `finalizer` is removed."""
        return self.finalizer is not None


@dataclass(frozen=True, slots=True)
class Paused:
    """Do nothing but say so, and look again after so many seconds if any are given."""

    pause: Pause
    after: float | None = None
    trigger: Trigger = Trigger.ANNOTATED


Plan = Skip | Refuse | AddFinalizer | Perform | Paused


def plan(body: Body, watch: Watch, defaults: Defaults, occasion: Occasion) -> Plan:
    """The one next step for the object."""
    if occasion.untold:  # its own event will ask for its run; what asks now meant the one before
        return Skip("the watch has yet to tell of it", _LOOK_AGAIN, Trigger.RETRY)
    meta = body.get("metadata") or {}
    annotations = Annotations(meta, defaults.bounds)
    ours = watch.finalizer is not None and watch.finalizer.name in (meta.get("finalizers") or ())
    check, paused = annotations.checks(), _paused(annotations, occasion.now)
    if meta.get("deletionTimestamp"):
        return paused or _finalize(annotations, watch, defaults, check=check) if ours else Skip("terminated")
    if not watch.selector.matches(texts(meta.get("labels"))):
        return Skip("not selected")
    if paused is not None:
        return paused
    try:
        period = annotations.period(watch.reconcile_period or defaults.reconcile_period)
    except ValueError as error:
        return Refuse(f"Unable to parse reconcile period annotation: {error}")
    run = _perform(annotations, watch, defaults, period)
    step = _check(body, period, replace(run, check=True), occasion, always=check)
    if step is None and watch.finalizer is not None and not ours:
        step = AddFinalizer(watch.finalizer.name)
    return step or _rest(body, period, watch.drift_period, defaults, occasion) or run


def _paused(annotations: Annotations, now: datetime) -> Paused | None:
    pause = annotations.pause(now)
    left = (pause.until - now).total_seconds() if pause and pause.until else None
    return Paused(pause, left) if pause else None


def _sooner(rest: float | None, drift_period: float | None) -> tuple[float | None, Trigger]:
    """What comes first: the run that is due in `rest` seconds, or a check run."""
    if drift_period is not None and (rest is None or drift_period < rest):
        return drift_period, Trigger.DRIFT
    return rest, Trigger.PERIOD


def _check(body: Body, period: float | None, run: Perform, occasion: Occasion, *, always: bool) -> Plan | None:
    """A check run, where that is wanted: of an object at rest, unless its period is over as well."""
    if always or occasion.triggers != DRIFT_ONLY:
        return run if always else None
    if (completed := completed_at(body)) is None:
        return Skip("not at rest, so that nothing can have drifted", period)
    rest = completed.timestamp() + period - occasion.now.timestamp() if period is not None else math.inf
    if run.trigger is Trigger.DRIFT and (run.period or 0.0) < rest:
        return run
    return replace(run, period=rest, trigger=Trigger.PERIOD) if rest > 0 else None


def _finalize(annotations: Annotations, watch: Watch, defaults: Defaults, *, check: bool) -> Perform:
    finalizer = watch.finalizer
    content = (finalizer.content if finalizer else None) or watch.content
    step = _perform(annotations, watch, defaults, None)
    return replace(step, content=content, finalizer=finalizer.name if finalizer else None, check=check)


def _perform(annotations: Annotations, watch: Watch, defaults: Defaults, period: float | None) -> Perform:
    verbosity = annotations.verbosity(defaults.verbosity)
    after, trigger = _sooner(period, watch.drift_period)
    return Perform(
        content=watch.content,
        period=after,
        trigger=trigger,
        verbosity=verbosity,
        max_artifacts=annotations.artifacts(watch.max_runner_artifacts),
        console_verbosity=verbosity if annotations.has_integer(VERBOSITY) else 0,
        warnings=tuple(annotations.warnings),
    )


def _rest(
    body: Body, period: float | None, drift_period: float | None, defaults: Defaults, occasion: Occasion
) -> Skip | None:
    """Skip what was reconciled as it is now, while that is still good.

    That is where only a start of the operator asks for it, or a change that the run before has found already.
    """
    at_start = not defaults.reconcile_at_start and occasion.triggers == _START
    found_before = Trigger.CHANGED in occasion.triggers and occasion.triggers <= _CHANGE
    if not (at_start or found_before):
        return None
    reason = "reconciled before the start" if at_start else "this change was reconciled with the one before"
    completed = completed_at(body)
    if completed is None or paused_since(body):
        return None
    if period is None:
        return Skip(reason, *_sooner(None, drift_period))
    rest = completed.timestamp() + period - occasion.now.timestamp()
    if rest <= 0:
        return None
    after, trigger = _sooner(min(rest, period), drift_period)
    return Skip(reason, (after or 0.0) * (1 + _SPREAD * occasion.spread), trigger)
