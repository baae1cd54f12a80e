"""The comparison of operators: what is run, and what is said of what was found."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from bench import accounting
from bench.compare import Figures, commands, table
from bench.stock import SCENARIOS, environment, write_project

FOUND = {
    "cold": Figures(latencies=[2.0] * 3, cpu=1.0, idle_memory=80 * 2**20, burst=10, burst_seconds=10.0),
    "warm": Figures(latencies=[0.2] * 3, cpu=0.1, idle_memory=160 * 2**20, burst=100, burst_seconds=10.0),
}


def shown(stock: float) -> str:
    console = Console(width=200, record=True, file=StringIO())
    console.print(table("1 task", FOUND, stock))
    return console.export_text()


def row(text: str, begin: str) -> list[str]:
    """The cells after the first of the row that begins so."""
    (line,) = (line for line in text.splitlines() if line.strip("│ ").startswith(begin))
    return [cell.strip() for cell in line.strip("│").split("│")][1:]


def test_every_figure_is_a_ratio_of_warm_and_cold_too() -> None:
    text = shown(stock=2.0)

    assert row(text, "created -> Successful, p50") == ["2.000 s", "0.200 s", "10.0"]
    assert row(text, "CPU-seconds a reconcile") == ["1.000 s", "0.100 s", "10.0"]
    assert row(text, "at once") == ["1.00", "10.00", "10.0"]
    assert row(text, "CPU-seconds, `ansible-runner run`")[-1] == "20.0"


def test_a_figure_that_was_not_measured_has_no_row() -> None:
    assert "memory at most" not in shown(stock=0.0)
    assert "ansible-runner" not in shown(stock=0.0)


def test_another_operator_stands_beside_ours() -> None:
    who = commands("/opt/other operator --flag")

    assert list(who) == ["cold", "warm", "/opt/other operator --flag"]
    assert who["/opt/other operator --flag"] == (("/opt/other", "operator", "--flag"), ())


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_each_scenario_is_a_project_of_one_role(tmp_path: Path, scenario: str) -> None:
    project = write_project(tmp_path / "project", scenario)

    (watch,) = yaml.safe_load((project / "watches.yaml").read_text())
    tasks = yaml.safe_load((project / "roles" / watch["role"] / "tasks/main.yml").read_text())
    count, _, unit = scenario.partition(" ")
    assert not unit.startswith("task") or len(tasks) == int(count)
    assert environment(scenario)["ANSIBLE_GATHERING"] == ("implicit" if "facts" in scenario else "explicit")


def test_a_scenario_that_there_is_none_of_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one of 1 task, 3 tasks"):
        write_project(tmp_path / "project", "4 birds")


def test_memory_and_time_of_a_process_hold_those_of_its_children() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    busy = "import os, sys; sum(n * n for n in range(2_000_000)); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdout.readline()
        parent_only = accounting.tree(parent.pid)
        assert len(parent_only) == 2
        assert accounting.cpu_seconds(parent.pid) > 0.03
        assert accounting.memory(parent.pid) > 2**20
        parent.stdin.close()
