"""After many runs and the deletion of what they were for, the operator is as it was before them.

`RUNS=500 pytest tests/robustness/test_nothing_left.py` runs more of them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench import accounting
from bench.observer import wait_for
from bench.operator import OperatorProcess
from tests.fixtures.operators import Operate, Project, Things, files_below
from tests.fixtures.watcher import AT_REST

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

RUNS = int(os.environ.get("RUNS", "24"))
ROLE = """
- kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}
      data: {text: "here"}
- command: mktemp
- tempfile: {}
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temp directory for the operator alone."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    tempfile.tempdir = None
    yield path
    tempfile.tempdir = None


def descriptors(pid: int) -> int:
    """Open ones of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_many_runs_leave_no_file_process_descriptor_or_memory(
    temporary: Path, operate: Operate, project: Project, things: Things
) -> None:
    project.role("leaves", ROLE)
    project.watch("leaves")
    operator: OperatorProcess = operate(ANSIBLE_GATHERING="explicit")
    run_and_delete(things, operator, [f"first-{number}" for number in range(8)])
    files, memory = descriptors(operator.pid), accounting.memory(operator.pid)

    run_and_delete(things, operator, [f"many-{number}" for number in range(RUNS)])

    wait_for("its processes to be gone", lambda: len(accounting.tree(operator.pid)) <= AT_REST, seconds=30)
    wait_for("its connections to be closed", lambda: descriptors(operator.pid) <= files + 4, seconds=60)
    assert list(temporary.iterdir()) == []
    assert accounting.memory(operator.pid) < memory * 1.15 + RUNS * 2**12


def run_and_delete(things: Things, operator: OperatorProcess, names: list[str]) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(things.create, names))
    for name in names:
        things.wait(name, "Successful", seconds=60 + 3 * len(names))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(things.delete, names))
    wait_for("the run directories to be gone", lambda: not files_below(operator.runner_dir), seconds=60)
