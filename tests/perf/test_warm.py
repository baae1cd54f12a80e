"""What warm runs save against cold ones, all measured in one go: ratios that hold on a busy machine, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import accounting
from bench.bench import p50_p95
from bench.compare import Figures, commands, compare
from bench.observer import wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from tests.fixtures.ansible_release import only_where_warm
from tests.fixtures.operators import PATIENCE, Operate, Project, Things, ledger

pytestmark = [pytest.mark.cluster, only_where_warm]

COMPARED = pytest.mark.xdist_group("compared")
ROUNDS = 5
LESS_CPU = 6
SOONER = 4
"""Ten and nine on a quiet machine; see docs/performance.md."""
AT_REST = 200 * 2**20
OF_A_RUN = 40 * 2**20
RUNS = 3
WAITS = """
- shell:
    cmd: |
      echo '{"begun": true}' >> "$LEDGER"
      until [ -e "$LEDGER.go" ]; do sleep 0.05; done
"""


@pytest.fixture(scope="module")
def figures(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figures]:
    work = tmp_path_factory.mktemp("compare")
    return compare("1 task", control_plane.kubeconfig, work, commands(""), ROUNDS, {})


@COMPARED
def test_a_warm_reconcile_takes_a_fraction_of_the_cpu_of_a_cold_one(figures: dict[str, Figures]) -> None:
    assert figures["warm"].cpu * LESS_CPU < figures["cold"].cpu


@COMPARED
def test_a_new_resource_is_successful_much_sooner_when_warm(figures: dict[str, Figures]) -> None:
    warm, cold = (p50_p95(figures[name].latencies)[0] for name in ("warm", "cold"))
    assert warm * SOONER < cold


def test_at_rest_and_at_work_memory_is_bounded(operate: Operate, project: Project, things: Things) -> None:
    """Shared pages counted once: what runs are forked from is theirs, too."""
    project.role("waits", WAITS)
    project.watch("waits")
    book = project / "ledger.jsonl"
    Path(f"{book}.go").touch()
    operator: OperatorProcess = operate("--executor=warm", f"--max-concurrent-reconciles={RUNS}", LEDGER=str(book))
    things.create("first")
    things.wait("first", "Successful")
    at_rest = accounting.memory(operator.pid)
    Path(f"{book}.go").unlink()
    for number in range(RUNS):
        things.create(f"run-{number}")
    wait_for("the runs to be under way", lambda: len(ledger(book)) == RUNS + 1, seconds=PATIENCE)
    at_work = accounting.memory(operator.pid)
    Path(f"{book}.go").touch()

    assert at_rest < AT_REST
    assert (at_work - at_rest) / RUNS < OF_A_RUN
