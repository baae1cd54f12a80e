"""`run --watch`: what is saved is taken up, what cannot be is said, and no run is cut short for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bench.observer import wait_for
from bench.operator import OperatorProcess
from tests.fixtures.operators import Project, Share, SharedOperator, Things

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("run_watch")]

FACT = "- {{name: Publish, ansible.builtin.set_fact: {{said: {word}}}}}"
STATUS = {"said": "facts.said"}


def write(project: Project) -> None:
    """A kind whose role is changed, one whose role is not, and one that gets another role."""
    for kind in ("Swapped", "Saved", "Unsaved"):
        project.role(kind.lower(), FACT.format(word="first"))
        project.watch(kind.lower(), kind, status=STATUS)
    project.role("other", FACT.format(word="other"))


@pytest.fixture(scope="module")
def shared(share: Share) -> Iterator[SharedOperator]:
    shared = share(write, "--watch")
    yield shared
    assert shared.process.stop() == 0


def logged(operator: OperatorProcess, message: str) -> dict[str, Any] | None:
    return next((record for record in operator.records() if record.get("msg") == message), None)


def says(things: Things, name: str, word: str, kind: str) -> Callable[[], bool]:
    return lambda: things.status(name, kind).get("said") == word


def test_saved_role_is_run_for_the_objects_of_its_kind_alone(shared: SharedOperator, things: Things) -> None:
    things.create("a", kind="Saved")
    things.create("b", kind="Unsaved")
    wait_for(
        "both to be reconciled",
        lambda: says(things, "a", "first", "Saved")() and says(things, "b", "first", "Unsaved")(),
        seconds=60,
    )
    before = things.get("b", "Unsaved")["metadata"]["resourceVersion"]

    shared.project.role("saved", FACT.format(word="second"))

    wait_for("the change to be run", says(things, "a", "second", "Saved"), seconds=60)
    change = logged(shared.process, "Content changed") or {}
    assert (change["file"], change["kinds"], change["enqueued"]) == ("roles/saved/tasks/main.yml", ["Saved"], 1)
    assert things.get("b", "Unsaved")["metadata"]["resourceVersion"] == before


def test_saved_watches_file_is_taken_up_and_a_broken_one_is_not(shared: SharedOperator, things: Things) -> None:
    project, things = shared.project, things.of("Swapped")
    things.create("a")
    wait_for("it to be reconciled", says(things, "a", "first", "Swapped"), seconds=60)
    good = (project / "watches.yaml").read_text()

    (project / "watches.yaml").write_text(good.replace("role: swapped", "role: nowhere"))

    refusal = "watches.yaml cannot be used, the last good one stays"
    problem = wait_for("the mistake to be said", lambda: logged(shared.process, refusal), seconds=30)["problem"]
    assert "watches.yaml:3: [0].role: role: nowhere was not found" in problem
    project.role("swapped", FACT.format(word="still"))
    wait_for("the last good one to be run", says(things, "a", "still", "Swapped"), seconds=60)

    (project / "watches.yaml").write_text(good.replace("role: swapped", "role: other"))

    wait_for("the new one to be run", says(things, "a", "other", "Swapped"), seconds=60)
