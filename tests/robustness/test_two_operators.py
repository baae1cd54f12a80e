"""Two operators without leader election do everything twice, and end in what was asked for all the same."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from bench.observer import Object, condition, wait_for
from tests.fixtures import invariants
from tests.fixtures.invariants import Run
from tests.fixtures.operators import PATIENCE, Operate, Things
from tests.fixtures.watcher import ALL, Watcher

pytestmark = pytest.mark.cluster

NAMES = ("one", "two", "three")


@pytest.mark.parametrize("others", ["runs", "others"] if ALL else ["others"])
def test_two_operators_without_leader_election_end_in_what_was_asked_for_and_come_to_rest(
    operate: Operate, things: Things, watcher: Watcher, book: Path, tmp_path: Path, others: str
) -> None:
    """They see each other's directory, as on one node, or do not."""
    for place in ("runs", others):
        operate("--zap-log-level=debug", f"--runner-dir={tmp_path / place}", LEDGER=str(book))
    for text in ("a", "b"):
        for name in NAMES:
            if text == "a":
                things.create(name, {"text": text, "seconds": 0.5})
            else:
                things.patch(name, {"spec": {"text": text}})
        for name in NAMES:
            things.wait(name, "Successful")
    watcher.rests()

    assert watcher.stirred(3) == []
    children = {child["metadata"]["name"]: child for child in watcher.children()}
    assert {name: children[name]["data"]["text"] for name in NAMES} == dict.fromkeys(NAMES, "b")
    assert settled(watcher) == []
    overlaps = invariants.no_overlap(watcher.runs())
    print(f"{len(watcher.runs())} runs, {len(overlaps)} overlap")
    assert others != "runs" or overlaps == []

    for name in NAMES:
        things.delete(name)
    wait_for("all to be gone", lambda: not any(things.get(name) for name in NAMES), seconds=PATIENCE)
    watcher.rests()
    assert settled(watcher) == []


def settled(watcher: Watcher) -> list[str]:
    """I2, I5, I6, and of I3 what two can promise: the status is of one of the last generation's runs."""
    runs, seen = watcher.runs(), list(watcher.seen)
    return [
        *invariants.last_generation_is_run(runs, seen),
        *invariants.gone_after_its_finalizer(runs, seen),
        *invariants.one_owner_each(watcher.children(), invariants.alive(seen)),
        *(
            f"{body['metadata']['name']}: {body.get('status')}"
            for body in invariants.alive(seen).values()
            if not is_of_the_last_generation(body, runs)
        ),
    ]


def is_of_the_last_generation(body: Object, runs: Iterable[Run]) -> bool:
    """Whether the status is that of any run of it."""
    generation, found = body["metadata"]["generation"], condition(body, "Successful")
    there = {run.ident for run in runs if run.uid == body["metadata"]["uid"] and run.generation == generation}
    told = (found.get("status"), found.get("observedGeneration"))
    return body["status"].get("run") in there and told == ("True", generation)
