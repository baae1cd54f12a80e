"""The turns of reviews by tasks: with a pause after each where reconciles want the processors, too."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self, cast

import pytest

from runner.config.watches import Content, Watch
from runner.errors import BusyError
from runner.execute.executor import Executor
from runner.execute.outcome import Ending, Outcome, Stats
from runner.execute.run import Run, Sink
from runner.objects import GroupVersionKind, ObjectKey
from runner.serve.admission import tasks
from runner.serve.admission.review import Review
from runner.serve.admission.tasks import Performed, Tasks
from runner.serve.grants import Grant

THING = GroupVersionKind("example.com", "v1", "Thing")
WATCH = Watch(THING, Content(Path("/roles/thing"), is_role=True))
REVIEW = Review("u-1", "CREATE", THING, "default", {"metadata": {"name": "a"}, "spec": {}}, None, {}, False)
AN_HOUR = 3600.0


class Clock:
    """Seconds, as the tasks say that they took them."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class SlowExecutor:
    """Each run takes an hour, and succeeds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def run(self, _run: Run, _sink: Sink) -> Outcome:
        self._clock.now += AN_HOUR
        return Outcome(Ending.FINISHED, 0, Stats())

    async def forget(self, _key: ObjectKey) -> None:
        """There is nothing."""


class NoGrant(nullcontext[Any]):
    """These runs ask no API server."""

    kubeconfig = ""

    def __enter__(self) -> Self:
        return self

    def only_reads(self) -> None:
        """It has nobody to read from."""


def slow_tasks(monkeypatch: pytest.MonkeyPatch, *, reconciling: bool) -> Tasks:
    clock = Clock()
    monkeypatch.setattr(tasks, "time", clock)
    monkeypatch.setattr(tasks, "PATIENCE", 0.05)
    return Tasks(
        cast(Executor, SlowExecutor(clock)),
        lambda _owner, _purpose: cast(Grant, NoGrant()),
        at_once=1,
        reconciling=lambda: [THING] if reconciling else [],
    )


async def test_the_next_review_has_its_turn_at_once_while_nothing_is_reconciled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = slow_tasks(monkeypatch, reconciling=False)
    assert [await turns.perform(WATCH, "admit", REVIEW) for _ in range(3)] == [Performed()] * 3


async def test_a_reconcile_has_the_processors_to_itself_for_a_while_after_each_review(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = slow_tasks(monkeypatch, reconciling=True)
    assert await turns.perform(WATCH, "admit", REVIEW) == Performed()
    with pytest.raises(BusyError):
        await turns.perform(WATCH, "admit", REVIEW)
