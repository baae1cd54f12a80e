"""Each process of the warm engine is killed, at each stage of a run: it converges, and nothing is done twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bench.observer import Observer, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from runner.execute.fork.inside.supervisor import descendants
from tests.fixtures.ansible_release import only_where_warm
from tests.fixtures.operators import PATIENCE, Project, Things, ledger

pytestmark = [pytest.mark.cluster, only_where_warm, pytest.mark.xdist_group("engine-kills")]

TASKS = 3
ROLE = """
- name: Give this run a name of its own
  ansible.builtin.set_fact:
    run: "{{ (2 ** 62) | random }}"
""" + "".join(
    f"""
- name: Say when this begins, wait until it may go on, say when it ends
  ansible.builtin.shell:
    cmd: |
      echo '{{"run": {{{{ run }}}}, "task": {number}, "at": "begin"}}' >> {{{{ place }}}}/ledger
      until [ -e {{{{ place }}}}/{number} ]; do sleep 0.02; done
      echo '{{"run": {{{{ run }}}}, "task": {number}, "at": "end"}}' >> {{{{ place }}}}/ledger
"""
    for number in range(TASKS)
)
BEFORE, STARTED = -2, -1
"""The stages before the run and before its first task."""
PROCESSES = ("zygote of plays", "zygote of modules", "supervisor", "play", "host", "module")
CASES = [
    (which, stage)
    for stage in (BEFORE, STARTED, 0, TASKS - 1)
    for which in PROCESSES
    if stage != BEFORE or which not in {"play", "module"}
]


@dataclass(frozen=True)
class Case:
    """A custom resource, what its runs wrote, and the processes that can be killed."""

    name: str
    place: Path
    operator: OperatorProcess

    def gate(self, task: int, *, is_open: bool) -> None:
        """Whether that task may end."""
        if is_open:
            (self.place / str(task)).touch()
        else:
            (self.place / str(task)).unlink(missing_ok=True)

    def entries(self) -> list[dict[str, Any]]:
        return ledger(self.place / "ledger")

    def process(self, which: str) -> int:
        """Its id, 0 if there is none."""
        plays, modules = (zygote(self.operator.pid, kind) for kind in ("plays", "modules"))
        of_plays, of_modules = descendants(plays) if plays else [], descendants(modules) if modules else []
        found = {
            "zygote of plays": [plays],
            "zygote of modules": [modules],
            "supervisor": of_plays[:1],
            "play": of_plays[1:2],
            "host": of_modules[:1],
            "module": of_modules[1:2],
        }[which]
        return found[0] if found else 0


def zygote(operator: int, kind: str) -> int:
    for pid in descendants(operator):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            continue
        if kind in command and "-c" in command:
            return pid
    return 0


@pytest.fixture(scope="module")
def operator(
    control_plane: ControlPlane, kinds: Observer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    kinds.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "engine-kills"}})
    work = tmp_path_factory.mktemp("engine-kills")
    project = Project(work / "project")
    project.role("killed", ROLE)
    project.watch("killed", reconcilePeriod="-1s")
    with OperatorProcess(
        project.path,
        control_plane.kubeconfig,
        work,
        "--executor=warm",
        environment={"WATCH_NAMESPACE": "engine-kills", "ANSIBLE_GATHERING": "explicit"},
    ) as operator:
        yield operator


@pytest.fixture(scope="module")
def things(control_plane: ControlPlane, operator: OperatorProcess) -> Iterator[Things]:
    observer = Observer(control_plane.kubeconfig, "engine-kills")
    yield Things(observer)
    observer.close()


_numbers = count()


@pytest.fixture
def case(operator: OperatorProcess, tmp_path: Path) -> Case:
    made = Case(f"case-{next(_numbers)}", tmp_path, operator)
    for task in range(TASKS):
        made.gate(task, is_open=True)
    return made


@pytest.mark.parametrize(("which", "stage"), CASES)
def test_whatever_is_killed_the_resource_converges_and_no_task_is_done_twice(
    case: Case, things: Things, which: str, stage: int
) -> None:
    if (which, stage) == ("module", STARTED):
        stage = 1  # there is no module before the first task
    if stage == BEFORE:
        have_been_used(case, things)
        kill(case, which)
    case.gate(stage, is_open=False)
    things.create(case.name, {"place": str(case.place)})
    if stage == BEFORE:
        wait_for("the first task to begin", case.entries, seconds=PATIENCE, every=0.01)
    elif stage == STARTED:
        wait_for("the run to be there", lambda: case.process("play"), seconds=PATIENCE, every=0.002)
    else:
        wait_for("the task to begin", lambda: under_way(case, stage), seconds=PATIENCE, every=0.01)
    if stage != BEFORE:
        kill(case, which)
    case.gate(stage, is_open=True)

    things.wait(case.name, "Successful")

    begun = [(entry["run"], entry["task"]) for entry in case.entries() if entry["at"] == "begin"]
    assert len(begun) == len(set(begun))
    assert runs_in_turn(case.entries())
    assert [entry["task"] for entry in case.entries()][-2 * TASKS :] == [0, 0, 1, 1, 2, 2]


def have_been_used(case: Case, things: Things) -> None:
    """Every process of the engine has served a run, which has ended."""
    earlier = replace(case, name=f"{case.name}-earlier", place=case.place / "earlier")
    earlier.place.mkdir()
    for task in range(TASKS):
        earlier.gate(task, is_open=True)
    things.create(earlier.name, {"place": str(earlier.place)})
    things.wait(earlier.name, "Successful")


def under_way(case: Case, stage: int) -> bool:
    entries = case.entries()
    return bool(entries) and (entries[-1]["task"], entries[-1]["at"]) == (stage, "begin")


def kill(case: Case, which: str) -> None:
    pid = wait_for(f"the {which} to be there", lambda: case.process(which), seconds=10, every=0.002)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pytest.fail(f"the {which} had ended before it could be killed")


def runs_in_turn(entries: list[dict[str, Any]]) -> bool:
    """Whether no run wrote anything once another had begun."""
    order = [entry["run"] for entry in entries]
    changes = [run for number, run in enumerate(order) if number == 0 or order[number - 1] != run]
    return len(changes) == len(set(changes))
