"""API server and data store are killed, restarted and set back: the operator takes up where things now stand."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from bench.observer import Observer, wait_for
from bench.operator import OperatorProcess
from runner.dev import processes
from runner.dev.api import api_ready
from runner.dev.components import AuditLevel, Options, all_components
from runner.dev.controlplane import ControlPlane
from runner.dev.programs import find_programs
from tests.fixtures.invariants import Run
from tests.fixtures.operators import GROUP, Project, Things, definition
from tests.fixtures.watcher import ALL, Watcher, watched, watching

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(420)]

PATIENCE = 90.0
"""Seconds: the operator may wait for most of a minute before it asks an API server again that was away."""
COLLECTED = 150.0
"""Seconds: Kubernetes' garbage collector may wait twice, up to a minute each, before it watches again."""
KILLED, RESTORED = (pytest.mark.xdist_group(f"store-{what}") for what in ("killed", "restored"))
STORE = ("kube-apiserver", "etcd")
VERSIONS = ("1.33", "1.36") if ALL else ("1.33",)
"""Of Kubernetes: what the API server becomes, one after the other."""


@dataclass(frozen=True)
class Stage:
    """A control plane of its own, an operator on it, and whoever watches both."""

    plane: ControlPlane
    operator: OperatorProcess
    watcher: Watcher
    things: Things

    def settles(self, name: str) -> None:
        self.things.wait(name, "Successful", seconds=PATIENCE)

    def goes(self, name: str) -> None:
        self.things.delete(name)
        wait_for(f"{name} to be gone", lambda: not self.things.get(name), seconds=PATIENCE)

    def runs(self, name: str) -> list[Run]:
        uid = self.things.get(name)["metadata"]["uid"]
        return [run for run in self.watcher.runs() if run.uid == uid]

    def is_run(self, name: str) -> bool:
        return any(not run.ended for run in self.runs(name))

    def problems(self) -> list[str]:
        return self.watcher.problems([self.operator])

    def collect_garbage(self) -> None:
        """Restart Kubernetes' own controllers: after an outage they may wait twice, up to a minute each."""
        self.plane.stop_component("kube-controller-manager")
        self.plane.start_component("kube-controller-manager")

    def becomes(self, version: str) -> None:
        """The API server is restarted as that version of itself, as far as its flag for it goes."""
        name, layout, state = "kube-apiserver", self.plane.layout, self.plane.state()
        assert state is not None
        self.plane.stop_component(name, grace=10)
        known = next(each for each in all_components(layout, state.ports, state.options) if each.name == name)
        command = [str(find_programs().path(name)), *known.arguments, f"--emulated-version={version}"]
        processes.spawn(command, layout.record(name), layout.log(name), layout.directory)
        wait_for("the API server to be ready", self._is_ready, seconds=PATIENCE)
        self.collect_garbage()

    def _is_ready(self) -> bool:
        try:
            return api_ready(self.plane.api())
        except OSError:
            return False

    def version(self) -> str:
        answer = self.plane.api().call("GET", "/version")[1]
        return f"{answer['emulationMajor']}.{answer['emulationMinor']}"

    def set_back(self, snapshot: Path) -> None:
        """What the data store holds is what it held then. Kubernetes' own controllers have to be told."""
        for name in STORE:
            self.plane.stop_component(name)
        shutil.rmtree(self.plane.layout.data)
        shutil.copytree(snapshot, self.plane.layout.data)
        self.start()
        self.collect_garbage()

    def start(self) -> None:
        """Both at once, as the start of either waits for the API server to be ready."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(self.plane.start_component, STORE))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    work = tmp_path_factory.mktemp("set-back")
    (work / "project").mkdir()
    project = Project(work / "project")
    book = watched(project)
    with ControlPlane(work / "plane", Options(audit=AuditLevel.METADATA, keep=True)) as plane:
        observer = Observer(plane.kubeconfig)
        observer.apply(definition("Thing"))
        wait_for("Things to be served", lambda: observer.serves(GROUP, "Thing"), seconds=30)
        environment = {"WATCH_NAMESPACE": "default", "ANSIBLE_GATHERING": "explicit", "LEDGER": str(book)}
        with (
            watching(plane, observer, book, collected=COLLECTED) as watcher,
            OperatorProcess(
                project.path, plane.kubeconfig, work, "--zap-log-level=debug", environment=environment
            ) as operator,
        ):
            yield Stage(plane, operator, watcher, Things(observer))
        observer.close()


@KILLED
@pytest.mark.parametrize("component", STORE)
def test_killed_in_the_middle_of_a_run_it_costs_no_result(stage: Stage, component: str) -> None:
    name = f"killed-{component}"
    stage.things.create(name, {"seconds": 3})
    wait_for("the run to begin", lambda: stage.is_run(name), seconds=PATIENCE)
    stage.plane.stop_component(component)
    stage.plane.start_component(component)
    stage.collect_garbage()
    stage.settles(name)
    stage.things.patch(name, {"spec": {"seconds": 0}})
    stage.settles(name)
    stage.goes(name)

    assert stage.problems() == []


@KILLED
def test_what_is_changed_as_soon_as_a_restarted_api_server_is_back_is_run_and_nothing_else(stage: Stage) -> None:
    for name in ("changed", "untouched"):
        stage.things.create(name)
        stage.settles(name)
    before = len(stage.watcher.runs())
    stage.plane.stop_component("kube-apiserver", grace=10)
    stage.plane.start_component("kube-apiserver")
    stage.things.patch("changed", {"spec": {"text": "b"}})
    stage.collect_garbage()
    stage.settles("changed")

    assert [run.uid for run in stage.watcher.runs()[before:]] == [stage.things.get("changed")["metadata"]["uid"]]
    assert stage.problems() == []
    for name in ("changed", "untouched"):
        stage.goes(name)


@KILLED
def test_an_api_server_that_becomes_another_version_in_the_middle_of_a_run_costs_no_result(stage: Stage) -> None:
    alone = "untouched-by-versions"  # of no other test: what led to a run of an earlier one may lead to one of it
    stage.things.create(alone)
    stage.settles(alone)
    for version in VERSIONS:
        name = f"under-{version}"
        stage.things.create(name, {"seconds": 3})
        wait_for("the run to begin", partial(stage.is_run, name), seconds=PATIENCE)
        stage.becomes(version)
        assert stage.version() == version
        stage.settles(name)
        stage.things.patch(name, {"spec": {"seconds": 0, "text": "changed"}})
        stage.settles(name)
        stage.goes(name)

    assert len(stage.runs(alone)) == 1
    assert stage.problems() == []
    stage.goes(alone)


@RESTORED
@pytest.mark.parametrize("running", [True, False])
def test_after_a_restore_of_the_data_store_what_is_there_then_is_what_counts(
    stage: Stage, tmp_path: Path, running: bool
) -> None:
    """One that was changed since is run as it was, one that was deleted is there again, a new one is gone."""
    changed, deleted, new = (f"{word}-{running}".lower() for word in ("changed", "deleted", "new"))
    for name in (changed, deleted):
        stage.things.create(name, {"text": "then"})
        stage.settles(name)
    snapshot = taken(stage, tmp_path / "snapshot")
    stage.things.patch(changed, {"spec": {"text": "now"}})
    stage.settles(changed)
    stage.goes(deleted)
    gone = stage.things.create(new)
    stage.settles(new)
    for number in range(20):  # so that the version is far ahead when it goes back
        stage.things.patch(new, {"metadata": {"labels": {"number": str(number)}}})
    if not running:
        stage.operator.stop()
    stage.set_back(snapshot)
    stage.watcher.excused.add(gone["metadata"]["uid"])
    if not running:
        stage.operator.start()

    stage.things.patch(deleted, {"spec": {"text": "again"}})
    stage.settles(deleted)
    wait_for("the child to be as the spec", lambda: text(stage, changed) == "then", seconds=PATIENCE)
    stage.things.patch(changed, {"spec": {"text": "later"}})
    stage.settles(changed)
    wait_for("the child to be as the spec", lambda: text(stage, changed) == "later", seconds=PATIENCE)
    for name in (changed, deleted):
        stage.goes(name)
    assert stage.problems() == []


def taken(stage: Stage, snapshot: Path) -> Path:
    """A copy of what the data store holds; it is ended meanwhile, so that the copy is whole."""
    for name in STORE:
        stage.plane.stop_component(name, grace=10)
    shutil.copytree(stage.plane.layout.data, snapshot)
    stage.start()
    return snapshot


def text(stage: Stage, name: str) -> str:
    found = stage.things.observer.get("v1", "ConfigMap", name) or {}
    return str(found.get("data", {}).get("text"))
