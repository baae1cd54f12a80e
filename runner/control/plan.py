"""What to do about a custom resource, decided from the object as it is right now. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from runner.config.watches import Content, Engine, Watch
from runner.control.annotations import VERBOSITY, Annotations, Bounds
from runner.control.conditions import RUNNING, SUCCESSFUL, conditions_of, find, status_of
from runner.control.entry import Trigger
from runner.objects import Body, generation_of, texts

_BACKLOG = frozenset({Trigger.BACKLOG})
_CHANGE = frozenset({Trigger.CHANGED, Trigger.PERIOD})
"""A change, and the period that any object waits for meanwhile."""
_SPREAD = 0.1


@dataclass(frozen=True, slots=True)
class Defaults:
    """What applies where neither the object nor its watch says otherwise. Times are in seconds.

    Without `reconcile_at_start`, an object that a start finds reconciled rests until its period is over.
    `deadline`, `gather_facts`, `ansible_args` and `engine` go into every run as they are; `bounds` limit what
    annotations may ask for.
    """

    reconcile_period: float = 36000.0
    verbosity: int = 2
    reconcile_at_start: bool = True
    deadline: float | None = None
    gather_facts: bool = True
    ansible_args: str = ""
    engine: Engine = Engine.AUTO
    bounds: Bounds = field(default_factory=Bounds)


@dataclass(frozen=True, slots=True)
class Occasion:
    """Why and when is decided. `spread` is a random number in -1..1, so that not all fall due together."""

    now: datetime
    triggers: frozenset[Trigger] = field(default_factory=frozenset)
    spread: float = 0.0


@dataclass(frozen=True, slots=True)
class Skip:
    """Do nothing, and look again after so many seconds if any are given."""

    reason: str
    after: float | None = None


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
    """Run the content. `period` is in seconds until the next run after a success, None for never.

    `console_verbosity` is the annotation's verbosity alone, 0 without one.
    """

    content: Content
    period: float | None
    verbosity: int
    max_artifacts: int
    finalizer: str | None = None
    console_verbosity: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def finalizing(self) -> bool:
        """The object is being deleted: after success `finalizer` is removed."""
        return self.finalizer is not None


Plan = Skip | Refuse | AddFinalizer | Perform


def plan(body: Body, watch: Watch, defaults: Defaults, occasion: Occasion) -> Plan:
    """The one next step for the object."""
    meta = body.get("metadata") or {}
    annotations = Annotations(meta, defaults.bounds)
    ours = watch.finalizer is not None and watch.finalizer.name in (meta.get("finalizers") or ())
    if meta.get("deletionTimestamp"):
        return _finalize(annotations, watch, defaults) if ours else Skip("terminated")
    if not watch.selector.matches(texts(meta.get("labels"))):
        return Skip("not selected")
    try:
        period = annotations.period(watch.reconcile_period or defaults.reconcile_period)
    except ValueError as error:
        return Refuse(f"Unable to parse reconcile period annotation: {error}")
    if watch.finalizer is not None and not ours:
        return AddFinalizer(watch.finalizer.name)
    return _rest(body, period, defaults, occasion) or _perform(annotations, watch, defaults, period)


def _finalize(annotations: Annotations, watch: Watch, defaults: Defaults) -> Perform:
    finalizer = watch.finalizer
    content = (finalizer.content if finalizer else None) or watch.content
    step = _perform(annotations, watch, defaults, None)
    return replace(step, content=content, finalizer=finalizer.name if finalizer else None)


def _perform(annotations: Annotations, watch: Watch, defaults: Defaults, period: float | None) -> Perform:
    verbosity = annotations.verbosity(defaults.verbosity)
    return Perform(
        content=watch.content,
        period=period,
        verbosity=verbosity,
        max_artifacts=annotations.artifacts(watch.max_runner_artifacts),
        console_verbosity=verbosity if annotations.has_integer(VERBOSITY) else 0,
        warnings=tuple(annotations.warnings),
    )


def _rest(body: Body, period: float | None, defaults: Defaults, occasion: Occasion) -> Skip | None:
    """Skip what was reconciled as it is now, while that is still good.

    That is where only a start of the operator asks for it, or a change that the run before has found already.
    """
    at_start = not defaults.reconcile_at_start and occasion.triggers == _BACKLOG
    found_before = Trigger.CHANGED in occasion.triggers and occasion.triggers <= _CHANGE
    if not (at_start or found_before):
        return None
    reason = "reconciled before the start" if at_start else "this change was reconciled with the one before"
    completed = _completed(body)
    if completed is None:
        return None
    if period is None:
        return Skip(reason)
    rest = completed.timestamp() + period - occasion.now.timestamp()
    if rest <= 0:
        return None
    return Skip(reason, min(rest, period) * (1 + _SPREAD * occasion.spread))


def _completed(body: Body) -> datetime | None:
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
