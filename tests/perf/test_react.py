"""What reactions cost and how soon they come: the benchmark of reactions with fewer objects, its goals as bounds.

Counts hold as they are; a busy machine may take longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bench import accounting, live, react, referenced, unused
from bench.stage import Finding
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import Operate, Project, Things

pytestmark = pytest.mark.cluster

Part = Callable[[ControlPlane, Path], list[Finding]]
PARTS: dict[str, Part] = {
    "references": partial(referenced.references, resources=100, secrets=200),
    "live status": partial(live.live_status, rounds=1),
    "live status of many": partial(live.crowd, resources=15),
    "a Job": partial(react.job_completes, times=2),
}
ROOM = 3
"""So many times a bound of seconds a busy machine may take."""


@pytest.mark.parametrize("part", PARTS)
def test_what_reactions_cost_is_bounded(part: str, control_plane: ControlPlane, tmp_path: Path) -> None:
    found = PARTS[part](control_plane, tmp_path)
    assert [one for one in found if one.share > ROOM] == []


def test_without_the_fields_each_kind_is_listed_and_watched_once(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    cost = unused.story(control_plane, tmp_path, "unused")
    runs = unused.RESOURCES + 3
    listed = {f"{verb} {kind}": 1 for verb in ("list", "watch") for kind in ("onetasks", "configmaps")}
    assert cost.reads == Counter({**listed, "get onetasks": runs - 1})
    assert cost.looks in (2, 3)  # for its run, then it is gone, and so may its dependent be
    assert cost.writes == Counter({"update onetasks/status": 2 * runs})
    assert cost.events == unused.FOREIGN


def test_what_is_in_memory_is_found_there(project: Project, operate: Operate, things: Things) -> None:
    project.role("nothing", referenced.NOTHING)
    project.watch("nothing")
    operator = operate()
    things.create("known-to-the-operator")
    things.wait("known-to-the-operator", "Successful")
    assert accounting.holding(operator.pid, [b"known-to-the-operator"])
