"""What the operator itself adds to the cost of Ansible."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.bench import PROJECT, burst, prepared
from bench.observer import Observer
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane

pytestmark = pytest.mark.cluster

COUNT = 12
CPU_PER_RUN = 0.050
START = 15.0
MEMORY = 150 * 2**20


@pytest.fixture
def bench(control_plane: ControlPlane, namespace: str) -> Iterator[Observer]:
    observer = prepared(control_plane.kubeconfig, namespace)
    yield observer
    observer.close()


@pytest.fixture
def operator(
    control_plane: ControlPlane, bench: Observer, namespace: str, tmp_path: Path
) -> Iterator[OperatorProcess]:
    process = OperatorProcess(
        PROJECT, control_plane.kubeconfig, tmp_path, environment={"WATCH_NAMESPACE": namespace}
    )
    yield process
    process.stop()


def test_a_burst_is_reconciled_without_overlap_for_under_50_ms_of_own_cpu_a_run(
    bench: Observer, operator: OperatorProcess
) -> None:
    operator.start()
    found = burst(bench, operator, COUNT)
    assert (found.runs, found.overlaps) == (COUNT, 0)
    assert found.own_cpu_per_run < CPU_PER_RUN


def test_the_operator_is_small_and_ready_soon(operator: OperatorProcess) -> None:
    started = time.monotonic()
    operator.start()
    assert time.monotonic() - started < START
    assert operator.memory() < MEMORY
