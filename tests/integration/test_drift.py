"""Check runs on a real API server, whose audit log says that nothing is written but dry runs."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path

import pytest

from bench.observer import Object, Observer, condition, wait_for
from runner.dev.controlplane import ControlPlane
from tests.fixtures.audit import Audit
from tests.fixtures.modules import (
    CHANGED,
    KEEP,
    MODULES,
    NAMESPACE,
    PASSWORD,
    SAME,
    SKIPPED,
    node,
    subjects,
    table,
)
from tests.fixtures.operators import GROUP, PATIENCE, Project, Share, SharedOperator, Things
from tests.fixtures.samples import CHECK, MODE
from tests.integration.test_preview import previewed

__all__ = ["subjects"]

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("drift")]

EXEC = "- {name: Look, kubernetes.core.k8s_exec: {pod: x, NS, command: date}}".replace("NS", NAMESPACE)
KEEP_EACH = (
    KEEP.replace("name }}", "name }}-{{ item }}").replace("Keep a", "Keep each") + "  loop: '{{ names }}'\n"
)


@pytest.fixture(scope="module")
def shared(share: Share, kinds: Observer) -> SharedOperator:
    def write(project: Project) -> None:
        """A kind for each role."""
        project.role("table", table(node(kinds)))
        project.watch("table", "Table", finalizer={"name": "test.example.com/bye", "role": "table"})
        project.role("keep", KEEP)
        project.watch("keep", "Kept")
        project.watch("keep", "Checked", driftPeriod="2s", watchDependentResources=False)
        project.role("exec", EXEC)
        project.watch("exec", "Exec")
        project.role("keep_each", KEEP_EACH)
        project.watch("keep_each", "KeptEach", prune=True)

    return share(write, "--executor=warm")


def drifted(things: Things, name: str, status: str, seconds: float = PATIENCE) -> Object:
    def reached() -> Object | None:
        found = things.condition(name, "Drifted")
        return found if found.get("status") == status else None

    return wait_for(f"{name} to have Drifted {status}", reached, seconds=seconds)


def came_of(runner_dir: Path, namespace: str) -> dict[str, str]:
    """What Ansible says of each task of the namespace's runs: ok, changed, skipped, or why it failed."""
    found = {}
    for file in runner_dir.rglob(f"{namespace}/a/**/job_events/*.json"):
        event = json.loads(file.read_text())
        told, data = event["event"], event.get("event_data", {})
        if told == "runner_on_ok":
            found[data["task"]] = CHANGED if data["res"].get("changed") else SAME
        elif told in ("runner_on_failed", "runner_on_skipped"):
            found[data["task"]] = SKIPPED if told == "runner_on_skipped" else str(data["res"].get("msg"))
    return found


def as_expected(found: str, expected: str) -> bool:
    return found == expected if expected in (CHANGED, SAME, SKIPPED) else expected in found


def test_every_module_of_the_collection_is_in_the_table() -> None:
    found = importlib.resources.files("ansible_collections.kubernetes.core.plugins.modules").iterdir()
    there = {Path(str(file)).stem for file in found if file.name.endswith(".py")} - {"__init__"}
    assert {module for module, _, _ in MODULES.values()} == there


@pytest.mark.usefixtures("subjects")
def test_check_mode_leaves_all_as_it_is_whatever_module_is_used(
    shared: SharedOperator, things: Things, observer: Observer, control_plane: ControlPlane
) -> None:
    things = things.of("Table")
    audit = Audit(control_plane, observer.namespace)
    things.create("a", **CHECK)

    found = drifted(things, "a", "True", seconds=2 * PATIENCE)

    tables = f"/apis/test.example.com/v1/namespaces/{observer.namespace}/tables"
    creation, *changes = [uri.partition("?")[0] for uri in audit.changes()]
    assert creation == f"create {tables}"
    assert set(changes) == {f"update {tables}/a/status"}
    assert len(audit.dry_runs()) >= 8
    results = came_of(shared.process.runner_dir, observer.namespace)
    assert {name: found for name, found in results.items() if not as_expected(found, MODULES[name][2])} == {}
    assert set(results) == set(MODULES)
    assert "ConfigMap" in found["message"]
    body = things.get("a")
    assert [each["type"] for each in body["status"]["conditions"]] == ["Drifted"]
    assert "finalizers" not in body["metadata"]
    assert PASSWORD not in json.dumps(body)
    owners = [record["owner"] for record in shared.process.records("Watching dependents")]
    assert not [owner for owner in owners if "Table" in owner]
    assert condition(body, "Drifted")["reason"] == "WouldChange"


@pytest.mark.usefixtures("shared")
def test_removing_the_annotation_runs_it_for_good(things: Things, observer: Observer) -> None:
    things = things.of("Kept")
    things.create("a", **CHECK)
    said = drifted(things, "a", "True")["message"]
    assert said == f"A run would change 1 object: ConfigMap {observer.namespace}/a would be created"

    things.patch("a", {"metadata": {"annotations": {MODE: None}}})

    assert drifted(things, "a", "False")["reason"] == "InSync"
    things.wait("a", "Successful")
    assert observer.get("v1", "ConfigMap", "a") is not None


def test_a_manual_change_is_drift_until_the_next_real_run(
    shared: SharedOperator, things: Things, observer: Observer, namespace: str
) -> None:
    things = things.of("Checked")
    things.create("a")
    things.wait("a", "Successful")
    before = drifted(things, "a", "False")["message"]
    runs = len(shared.reconciles(namespace))

    observer.patch("v1", "ConfigMap", "a", {"data": {"greeting": "changed"}})
    found = drifted(things, "a", "True", seconds=15)

    assert before == "A run would change nothing"
    assert found["message"] == f"A run would change 1 object: ConfigMap {observer.namespace}/a: data.greeting"
    assert things.condition("a", "Successful")["status"] == "True"
    assert len(shared.reconciles(namespace)) == runs  # a check is none
    assert (observer.get("v1", "ConfigMap", "a") or {})["data"] == {"greeting": "changed"}

    things.patch("a", {"spec": {"greeting": "again"}})
    drifted(things, "a", "False")
    assert (observer.get("v1", "ConfigMap", "a") or {})["data"] == {"greeting": "again"}


def test_a_check_that_fails_leaves_drift_unknown_and_is_no_failure(
    shared: SharedOperator, things: Things, observer: Observer
) -> None:
    things = things.of("Exec")
    observer.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "x"},
            "spec": {"containers": [{"name": "x", "image": "x"}]},
        }
    )
    things.create("a", **CHECK)

    found = drifted(things, "a", "Unknown")

    assert "check mode: the API proxy lets nothing pass" in found["message"]
    assert [each["type"] for each in things.status("a")["conditions"]] == ["Drifted"]
    assert not [record for record in shared.process.records("retry") if "Exec" in record["key"]]


def test_preview_of_a_change_shows_the_change_and_of_no_change_nothing(
    shared: SharedOperator, things: Things, control_plane: ControlPlane, namespace: str
) -> None:
    things = things.of("Kept")
    things.create("a", {"greeting": "hello"})
    things.wait("a", "Successful")

    body = {"apiVersion": GROUP, "kind": "Kept", "metadata": {"name": "a"}}
    same, other = (
        previewed(shared.project.path, {**body, "spec": {"greeting": word}}, control_plane, namespace)
        for word in ("hello", "hi")
    )

    assert (same.returncode, same.stdout) == (0, ""), same.stderr
    assert other.returncode == 1
    assert "-  greeting: hello\n+  greeting: hi\n" in other.stdout


def test_preview_lists_what_would_be_pruned_and_deletes_none_of_it(
    shared: SharedOperator, things: Things, control_plane: ControlPlane
) -> None:
    things = things.of("KeptEach")
    things.create("a", {"names": ["one", "two"]})
    things.wait("a", "Successful")
    body = {"apiVersion": GROUP, "kind": "KeptEach", "metadata": {"name": "a"}, "spec": {"names": ["one"]}}

    shown = previewed(shared.project.path, body, control_plane, things.observer.namespace)

    assert shown.returncode == 1, shown.stderr
    assert shown.stdout.endswith(f"Would be pruned:\n- ConfigMap {things.observer.namespace}/a-two\n")
    assert things.observer.get("v1", "ConfigMap", "a-two")
