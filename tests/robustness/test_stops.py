"""Told to stop in any state it ends in order, and whoever is started next finishes the job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.observer import Observer, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from tests.fixtures.gateway import Gateway, Refusal, gateway
from tests.fixtures.operators import PATIENCE, Operate, Project, Things
from tests.fixtures.watcher import FINALIZER, Watcher, watched, watching
from tests.robustness.test_operator_kills import processes_of_runs

pytestmark = pytest.mark.cluster

ELECTION = ("--leader-elect", "--leader-election-id=stops")


@dataclass(frozen=True)
class Stage:
    """What it takes to bring an operator into a state; `operator` is started with `start`."""

    start: Callable[..., OperatorProcess]
    between: Gateway
    watcher: Watcher
    things: Things

    def begun(self, count: int) -> None:
        wait_for(f"{count} runs to have begun", lambda: len(self.watcher.runs()) >= count, seconds=PATIENCE)

    def run(self) -> OperatorProcess:
        operator = self.start()
        self.things.create("one")
        self.things.wait("one", "Successful")
        return operator


def starting(stage: Stage) -> OperatorProcess:
    operator = stage.start(ready=False)
    wait_for("it to start", lambda: list(operator.records("Starting")), seconds=PATIENCE)
    return operator


def at_rest(stage: Stage) -> OperatorProcess:
    return stage.run()


def running(stage: Stage) -> OperatorProcess:
    operator = stage.start()
    stage.things.create("one", {"seconds": 1})
    stage.begun(1)
    return operator


def waiting_to_try_again(stage: Stage) -> OperatorProcess:
    operator = stage.start()
    stage.things.create("one", {"text": ["no text"]})
    wait_for("the third try", lambda: failed(operator) >= 3, seconds=PATIENCE)
    return operator


def failed(operator: OperatorProcess) -> int:
    return sum(record["result"] == "failed" for record in operator.records("Reconciled"))


def finalizing(stage: Stage) -> OperatorProcess:
    operator = stage.run()
    stage.things.delete("one")
    stage.begun(2)
    return operator


def standing_by(stage: Stage) -> OperatorProcess:
    election = (*ELECTION, f"--leader-election-namespace={stage.things.observer.namespace}")
    stage.start(*election)
    second = stage.start(*election, ready=False)
    # Both write the same log, and the leader has waited before.
    wait_for("it to stand by", lambda: len(list(second.records("Waiting to lead"))) == 2, seconds=PATIENCE)
    stage.things.create("one")
    stage.things.wait("one", "Successful")
    return second


def without_the_api(stage: Stage) -> OperatorProcess:
    operator = stage.run()
    stage.between.before = lambda _call: Refusal(503, "ServiceUnavailable")
    stage.between.cut_watches()
    stage.things.patch("one", {"spec": {"text": "changed"}})
    wait_for(
        "it to notice",
        lambda: any("cannot be watched" in str(record.get("msg")) for record in operator.records()),
        seconds=PATIENCE,
    )
    return operator


STATES = (starting, at_rest, running, waiting_to_try_again, finalizing, standing_by, without_the_api)


@pytest.fixture
def stage(
    control_plane: ControlPlane,
    observer: Observer,
    project: Project,
    operate: Operate,
    things: Things,
    tmp_path: Path,
) -> Iterator[Stage]:
    finalizer = {"name": FINALIZER, "role": "watched", "vars": {"seconds": 1}}
    book = watched(project, finalizer=finalizer)
    with gateway(control_plane) as between, watching(control_plane, observer, book) as watcher:
        login = between.login(tmp_path / "login")

        def start(*flags: str, ready: bool = True) -> OperatorProcess:
            return operate(
                "--zap-log-level=debug", *flags, kubeconfig=login, ready=ready, LEDGER=str(watcher.book)
            )

        yield Stage(start, between, watcher, things)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__.replace("_", " "))
def test_it_ends_in_order_in_any_state_and_the_next_one_finishes_the_job(
    stage: Stage, state: Callable[[Stage], OperatorProcess]
) -> None:
    operator = state(stage)

    assert operator.stop(40) == 0
    if state is not standing_by:  # there the leader goes on
        assert processes_of_runs(stage.watcher.book) == []

    stage.between.right()
    if state is waiting_to_try_again:
        stage.things.patch("one", {"spec": {"text": "a text"}})
    operator.start(ready=state is not standing_by)
    if state is starting:
        stage.things.create("one")
    if state is finalizing:
        wait_for("it to be gone", lambda: not stage.things.get("one"), seconds=PATIENCE)
    else:
        stage.things.wait("one", "Successful")
    stage.watcher.rests(operator)  # a run of the new start may be about to begin, or have ended just now
    assert stage.watcher.problems([operator]) == []
