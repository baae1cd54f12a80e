"""The operator is killed right after each of the writes that the life of a custom resource takes.

`FAULTS=all pytest tests/robustness/test_writes.py` tries all of them; by default it is every fourth.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from bench.observer import wait_for
from bench.operator import OperatorProcess
from tests.fixtures.gateway import Call, Gateway
from tests.fixtures.operators import PATIENCE, Operate, Things, files_below
from tests.fixtures.watcher import ALL, Watcher

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

EVERY = 1 if ALL else 4
MOST = 40
"""Writes of a life at most, lest a test that never ends a life goes on for ever."""


def test_killed_after_any_of_its_writes_the_operator_loses_nothing_and_does_nothing_twice_at_once(
    operate: Operate, things: Things, between: Gateway, watcher: Watcher, book: Path, tmp_path: Path
) -> None:
    login = between.login(tmp_path / "login")
    operator = operate("--zap-log-level=debug", kubeconfig=login, LEDGER=str(book))
    killed = []
    for number in range(1, MOST, EVERY):
        after = kill_after(number, between, operator)
        live(f"life-{number}", things, operator, after)
        if not after:
            break
        killed += after
    print(f"killed after {len(killed)} writes: {killed}")

    assert len(killed) >= 8 // EVERY
    assert not after
    assert watcher.problems([operator]) == []


def kill_after(number: int, between: Gateway, operator: OperatorProcess) -> list[str]:
    """Have it killed when the API server has answered its write of that number; holds that write once it was."""
    count, killed = 0, list[str]()

    def after(call: Call, _status: int) -> None:
        nonlocal count
        count += call.writes
        if call.writes and count == number:
            killed.append(f"{call.verb} {call.resource}")
            with suppress(ProcessLookupError):
                os.kill(operator.pid, signal.SIGKILL)

    between.after = after
    return killed


def live(name: str, things: Things, operator: OperatorProcess, killed: list[str]) -> None:
    """A whole life: created, changed, deleted; when the operator was killed, it is started again.

    The API server has done a write before the operator is killed for it. A life is therefore over when what its
    runs left is gone, too: who is alive removes that once its last write was answered, who was killed once it is
    back.
    """
    restarted = False

    def alive_then(what: str) -> None:
        nonlocal restarted

        def reached() -> bool:
            nonlocal restarted
            if killed and not restarted:
                operator.wait(10)
                operator.start()
                restarted = True
            return is_(what, name, things) and (what != "gone" or not files_below(operator.runner_dir))

        wait_for(f"{name} to be {what}", reached, seconds=PATIENCE)

    things.create(name, {"text": "a"})
    alive_then("Successful")
    things.patch(name, {"spec": {"text": "b"}})
    alive_then("Successful")
    things.delete(name)
    alive_then("gone")


def is_(what: str, name: str, things: Things) -> bool:
    body = things.get(name)
    if what == "gone" or not body:
        return not body
    found = things.condition(name, what)
    return found.get("status") == "True" and found.get("observedGeneration") == body["metadata"]["generation"]
