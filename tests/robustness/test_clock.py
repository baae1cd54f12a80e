"""The wall clock is set forward, or back, while the operator leads: nothing is run for that, and nothing waits."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import pytest

from bench.observer import Observer, wait_for
from tests.fixtures.operators import PATIENCE, Operate, Project, Things
from tests.fixtures.wallclock import WallClock
from tests.fixtures.watcher import Watcher, watched

pytestmark = pytest.mark.cluster

HOUR = 3600
LEASE = "coordination.k8s.io/v1"


@pytest.fixture
def book(project: Project) -> Path:
    return watched(project, reconcilePeriod="30m")


@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["forward", "back"])
def test_a_jump_of_the_clock_starts_no_run_and_delays_none_and_the_leader_stays(
    operate: Operate, things: Things, observer: Observer, watcher: Watcher, book: Path, tmp_path: Path, jump: int
) -> None:
    clock = WallClock(tmp_path)
    operator = operate(
        "--leader-elect",
        "--leader-election-id=clock",
        f"--leader-election-namespace={observer.namespace}",
        "--leader-elect-lease-duration=6s",
        "--leader-elect-renew-deadline=4s",
        LEDGER=str(book),
        **clock.environment,
    )
    for name in ("rests", "changes"):
        things.create(name, {"text": "a"})
        things.wait(name, "Successful")
    clock.jump(jump)
    renewed = wait_for("a renewal by the new time", lambda: renewal(observer, jump), seconds=PATIENCE)
    assert [problem for problem in watcher.stirred(8) if "leases" not in problem] == []

    runs, began = len(watcher.runs()), time.monotonic()
    things.patch("changes", {"spec": {"text": "b"}})
    things.wait("changes", "Successful")
    assert time.monotonic() - began < 20
    assert len(watcher.runs()) == runs + 1
    assert watcher.problems([operator]) == []
    assert renewed == holder(observer)


def holder(observer: Observer) -> str:
    lease = observer.get(LEASE, "Lease", "clock") or {}
    return str(lease.get("spec", {}).get("holderIdentity"))


def renewal(observer: Observer, jump: int) -> str:
    """Who holds the lease, once it was renewed at a time that is off by the jump."""
    lease = observer.get(LEASE, "Lease", "clock") or {}
    at = datetime.fromisoformat(lease["spec"]["renewTime"]).timestamp()
    return holder(observer) if abs(at - time.time() - jump) < 60 else ""
