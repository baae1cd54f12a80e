"""The operator becomes another version, and this one again, with runs under way: no run is lost or doubled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.observer import wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from runner.version import VERSION
from tests.fixtures.operators import PATIENCE, Project, Things
from tests.fixtures.watcher import Watcher

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
EARLIER = "b78bb722bce3b250b8979fcd8b72bc6a6cfeecc6"
"""One of main, some one hundred and seventy commits before this test."""
NAMES = ("one", "two", "three")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where another version is: the earlier commit, or, without history, this one under another number."""
    place = tmp_path_factory.mktemp("other")
    found = subprocess.run(["git", "-C", ROOT, "archive", EARLIER, "runner"], capture_output=True, check=False)
    if found.returncode == 0:
        subprocess.run(["tar", "-x", "-C", place], input=found.stdout, check=True)
    else:
        shutil.copytree(ROOT / "runner", place / "runner")
        file = place / "runner" / "version.py"
        file.write_text(file.read_text().replace(VERSION, "0.0.9"))
    print(f"the other version: {EARLIER if found.returncode == 0 else 'this one, under another number'}")
    return place


@dataclass(frozen=True)
class Versions:
    """Two operators that would lead, of two versions, each with a directory of its own as in a pod."""

    other: OperatorProcess
    this: OperatorProcess


@pytest.fixture
def versions(
    control_plane: ControlPlane, project: Project, namespace: str, book: Path, other: Path, tmp_path: Path
) -> Iterator[Versions]:
    def operator(name: str, place: Path) -> OperatorProcess:
        assert imported(place) == place / "runner"
        return OperatorProcess(
            project.path,
            control_plane.kubeconfig,
            tmp_path / name,
            "--zap-log-level=debug",
            "--leader-elect",
            "--leader-election-id=versions",
            f"--leader-election-namespace={namespace}",
            "--leader-elect-lease-duration=6s",
            "--leader-elect-renew-deadline=4s",
            environment={
                "WATCH_NAMESPACE": namespace,
                "ANSIBLE_GATHERING": "explicit",
                "LEDGER": str(book),
                "PYTHONPATH": str(place),
            },
        )

    both = Versions(operator("other", other), operator("this", ROOT))
    with ExitStack() as ended:
        ended.callback(both.this.stop)
        ended.callback(both.other.stop)
        yield both


def imported(place: Path) -> Path:
    """Which of the versions Python finds there."""
    command = [sys.executable, "-c", "import runner; print(runner.__path__[0])"]
    environment = {**os.environ, "PYTHONPATH": str(place)}
    answer = subprocess.run(command, cwd="/", env=environment, check=True, capture_output=True, text=True)
    return Path(answer.stdout.strip())


def test_an_upgrade_and_a_downgrade_with_runs_under_way_lose_no_run_and_double_none(
    versions: Versions, things: Things, watcher: Watcher
) -> None:
    def under_way() -> bool:
        return any(not run.ended for run in watcher.runs())

    def changed(text: str) -> None:
        for name in NAMES:
            things.patch(name, {"spec": {"text": text}})
        wait_for("a run to begin", under_way, seconds=PATIENCE)

    def settled(text: str) -> None:
        for name in NAMES:
            things.wait(name, "Successful")
            assert (things.observer.get("v1", "ConfigMap", name) or {})["data"]["text"] == text

    versions.other.start()
    for name in NAMES:
        things.create(name, {"text": "a", "seconds": 1})
    wait_for("a run to begin", under_way, seconds=PATIENCE)
    replaced(versions.other, versions.this)
    settled("a")

    changed("b")
    replaced(versions.this, versions.other)
    settled("b")

    changed("c")
    versions.other.kill()
    versions.this.start()
    settled("c")

    for name in NAMES:
        things.delete(name)
    wait_for("all to be gone", lambda: not any(things.get(name) for name in NAMES), seconds=PATIENCE)
    assert watcher.problems([versions.other, versions.this]) == []


def replaced(leader: OperatorProcess, successor: OperatorProcess) -> None:
    """As a Deployment does it: the new one first, then the old one is told to end."""
    before = len(list(successor.records("Waiting to lead")))
    successor.start(ready=False)
    wait_for("it to stand by", lambda: len(list(successor.records("Waiting to lead"))) > before, seconds=PATIENCE)
    assert leader.stop() == 0
