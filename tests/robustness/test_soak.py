"""Changes of all kinds for a while, with trouble now and then: every invariant holds in the end.

`FAULTS=all` makes it 1,100 steps, as many as otherwise in three quarters of an hour; by default it is 40.
`SEED=n` repeats the changes of another time.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from kubernetes.client.exceptions import ApiException

from bench import accounting
from bench.observer import wait_for
from bench.operator import OperatorProcess
from runner.errors import DevError
from tests.fixtures.gateway import Call, CutError, Gateway, Refusal
from tests.fixtures.invariants import Footprint, nothing_leaked, nothing_told
from tests.fixtures.operators import PATIENCE, Operate, Things
from tests.fixtures.watcher import ALL, AT_REST, Watcher, footprint, passwords

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

STEPS = 1100 if ALL else 40
PACE = 0.1
"""Seconds between two steps; a change every two and a half is what somebody busy would make."""
NAMES = [f"thing-{number}" for number in range(6)]


def test_after_many_changes_with_trouble_in_between_every_invariant_holds(
    operate: Operate, things: Things, between: Gateway, watcher: Watcher, book: Path, tmp_path: Path
) -> None:
    seed = int(os.environ.get("SEED") or random.randrange(2**32))
    print(f"SEED={seed}")
    operator = operate("--zap-log-level=debug", kubeconfig=between.login(tmp_path / "login"), LEDGER=str(book))
    for name in NAMES:
        things.create(name, {"text": "0"})
    watcher.rests(operator)
    before = replace(footprint(operator), processes=AT_REST)  # it may have had but one run at a time so far

    steps = Steps(things, between, operator, watcher, random.Random(seed))
    began = time.monotonic()
    for _ in range(STEPS):
        steps.one()
        time.sleep(PACE)  # the pace is what is wanted here

    took = time.monotonic() - began
    between.right()
    for name in NAMES:
        if things.get(name) and not things.get(name)["metadata"].get("deletionTimestamp"):
            things.wait(name, "Successful", seconds=2 * PATIENCE)
    watcher.children()  # the garbage collector has had its time with those of owners that are gone
    watcher.rests(operator)
    print(f"{STEPS} steps in {took:.0f} s, {len(watcher.runs())} runs, {len(steps.passwords)} passwords")
    assert watcher.problems([operator]) == []
    assert watcher.stirred(5) == []
    assert steps.passwords
    assert nothing_told(steps.passwords, places(things, watcher, operator)) == []
    for name in NAMES:
        things.delete(name)
    wait_for("all to be gone", lambda: not any(things.get(name) for name in NAMES), seconds=2 * PATIENCE)
    assert watcher.problems([operator]) == []
    assert leaks(operator, before) == []


def leaks(operator: OperatorProcess, before: Footprint) -> list[str]:
    """What is left over once the operator has had its time.

    The operator may be another process by now; memory is that of a tree that has done more.
    """

    def remaining() -> list[str]:
        return nothing_leaked(before, footprint(operator), memory=0.5)

    with suppress(DevError):  # the assertion says more
        wait_for("nothing to be left over", lambda: not remaining(), seconds=PATIENCE)
    return remaining()


def places(things: Things, watcher: Watcher, operator: OperatorProcess) -> dict[str, str]:
    """Where others may read: the log, custom resources as they ever were, Events, and what children are now."""
    return {
        "the log": operator.printed(),
        "a custom resource": json.dumps([event.body for event in watcher.seen]),
        "an Event": json.dumps(things.observer.list("v1", "Event")),
        "a child": json.dumps(things.observer.list("v1", "ConfigMap")),
    }


class Steps:
    """What happens to objects, to the operator, and between it and the API server; each takes no time.

    `passwords` are those that runs logged in with.
    """

    def __init__(
        self, things: Things, between: Gateway, operator: OperatorProcess, watcher: Watcher, chance: random.Random
    ) -> None:
        self._things, self._between, self._operator = things, between, operator
        self._watcher, self._chance = watcher, chance
        self.passwords: set[str] = set()
        self._weights: dict[Callable[[], None], int] = {
            self.change: 40,
            self.create: 15,
            self.delete: 8,
            self.forsake: 1,
            self.label: 5,
            self.edit_child: 8,
            self.delete_child: 5,
            self.refuse: 5,
            self.delay: 3,
            self.repeat: 3,
            self.heal: 14,
            self.cut: 3,
            self.freeze: 1,
            self.kill_a_run: 2,
            self.kill: 1,
            self.restart: 1,
        }

    def one(self) -> None:
        """Any of them; the object that it concerns may not be there, or be there already."""
        with suppress(ApiException):
            self._chance.choices(list(self._weights), list(self._weights.values()))[0]()
        self.passwords.update(passwords([self._operator]))

    def change(self) -> None:
        self._things.patch(self._name(), {"spec": {"text": str(self._chance.randrange(100))}})

    def create(self) -> None:
        self._things.create(self._name(), {"text": "0", "seconds": self._chance.choice([0, 0, 0.5])})

    def delete(self) -> None:
        self._things.delete(self._name())

    def forsake(self) -> None:
        """As somebody does who will not wait for the finalizer."""
        name = self._name()
        self._things.delete(name)
        if body := self._things.get(name):
            self._watcher.excused.add(body["metadata"]["uid"])
            self._things.patch(name, {"metadata": {"finalizers": []}})

    def label(self) -> None:
        self._things.patch(self._name(), {"metadata": {"labels": {"number": str(self._chance.randrange(9))}}})

    def edit_child(self) -> None:
        self._things.observer.patch("v1", "ConfigMap", self._name(), {"data": {"text": "edited"}})

    def delete_child(self) -> None:
        self._things.observer.delete("v1", "ConfigMap", self._name())

    def refuse(self) -> None:
        status = self._chance.choice([409, 429, 500, 503, 504])

        def before(call: Call) -> Refusal | None:
            hit = self._chance.random() < 0.3 and (status != 409 or call.verb == "put")
            return Refusal(status, "Conflict" if status == 409 else "InternalError") if hit else None

        self._between.before = before

    def delay(self) -> None:
        self._between.delay = 0.5

    def repeat(self) -> None:
        """Lines of watches come twice, and now and then one is cut."""

        def lines(_call: Call, line: bytes) -> Iterator[bytes]:
            yield line
            if self._chance.random() < 0.1:
                yield line[: len(line) // 2]
                raise CutError
            yield line

        self._between.lines = lines

    def heal(self) -> None:
        self._between.right()

    def cut(self) -> None:
        self._between.cut_watches()

    def freeze(self) -> None:
        os.kill(self._operator.pid, signal.SIGSTOP)
        time.sleep(1)  # as long as it lasts
        os.kill(self._operator.pid, signal.SIGCONT)

    def kill_a_run(self) -> None:
        """Any process below the operator."""
        below = [pid for pid in accounting.tree(self._operator.pid) if pid != self._operator.pid]
        with suppress(ProcessLookupError, IndexError):  # it has ended, or there is none
            os.kill(self._chance.choice(below), signal.SIGKILL)

    def kill(self) -> None:
        self._between.right()
        self._operator.kill()
        self._operator.start()

    def restart(self) -> None:
        self._between.right()
        assert self._operator.stop() == 0
        self._operator.start()

    def _name(self) -> str:
        return self._chance.choice(NAMES)
