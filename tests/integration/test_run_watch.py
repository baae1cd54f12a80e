"""`run --watch`: what is saved is taken up, what cannot be is said, and no run is cut short for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench.observer import wait_for
from bench.operator import OperatorProcess
from tests.fixtures.operators import Operate, Project, Things

pytestmark = pytest.mark.cluster

FACT = "- {{name: Publish, ansible.builtin.set_fact: {{said: {word}}}}}"
STATUS = {"said": "facts.said"}


def logged(operator: OperatorProcess, message: str) -> dict[str, Any] | None:
    return next((record for record in operator.records() if record.get("msg") == message), None)


def says(things: Things, name: str, word: str, kind: str = "Thing") -> Callable[[], bool]:
    return lambda: things.status(name, kind).get("said") == word


def test_saved_role_is_run_for_the_objects_of_its_kind_alone(
    operate: Operate, project: Project, things: Things
) -> None:
    project.role("thing", FACT.format(word="first"))
    project.role("gadget", FACT.format(word="first"))
    project.watch("thing", status=STATUS)
    project.watch("gadget", kind="Gadget", status=STATUS)
    operator = operate("--watch")
    things.create("a")
    things.create("b", kind="Gadget")
    wait_for(
        "both to be reconciled",
        lambda: says(things, "a", "first")() and says(things, "b", "first", "Gadget")(),
        seconds=60,
    )
    before = things.get("b", "Gadget")["metadata"]["resourceVersion"]

    project.role("thing", FACT.format(word="second"))

    wait_for("the change to be run", says(things, "a", "second"), seconds=60)
    told = logged(operator, "Content changed") or {}
    assert (told["file"], told["kinds"], told["enqueued"]) == ("roles/thing/tasks/main.yml", ["Thing"], 1)
    assert things.get("b", "Gadget")["metadata"]["resourceVersion"] == before


def test_saved_watches_file_is_taken_up_and_a_broken_one_is_not(
    operate: Operate, project: Project, things: Things
) -> None:
    project.role("thing", FACT.format(word="first"))
    project.role("other", FACT.format(word="other"))
    project.watch("thing", status=STATUS)
    operator = operate("--watch")
    things.create("a")
    wait_for("it to be reconciled", says(things, "a", "first"), seconds=60)
    good = (project / "watches.yaml").read_text()

    (project / "watches.yaml").write_text(good.replace("role: thing", "role: nowhere"))

    refusal = "watches.yaml cannot be used, the last good one stays"
    problem = wait_for("the mistake to be said", lambda: logged(operator, refusal), seconds=30)["problem"]
    assert "watches.yaml:3: [0].role: role: nowhere was not found" in problem
    project.role("thing", FACT.format(word="still"))
    wait_for("the last good one to be run", says(things, "a", "still"), seconds=60)

    (project / "watches.yaml").write_text(good.replace("role: thing", "role: other"))

    wait_for("the new one to be run", says(things, "a", "other"), seconds=60)
    assert operator.stop() == 0
