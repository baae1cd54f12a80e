"""`preview` on a real API server, whose audit log says that nothing is written but dry runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml

from bench.observer import Object, Observer, wait_for
from runner.dev.controlplane import ControlPlane
from tests.fixtures.audit import Audit
from tests.fixtures.modules import KEEP, ONCE, PASSWORD, node, subjects, table
from tests.fixtures.operators import GROUP, Project, Things
from tests.fixtures.samples import SAMPLE_GROUP, SAMPLES

__all__ = ["subjects"]

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
Preview = Callable[..., subprocess.CompletedProcess[str]]


def previewed(
    project: Path, body: Object, plane: ControlPlane, namespace: str
) -> subprocess.CompletedProcess[str]:
    (project / "cr.yaml").write_text(yaml.safe_dump(body))
    where = ["-n", namespace, "--kubeconfig", str(plane.kubeconfig)]
    return subprocess.run(
        [sys.executable, "-m", "runner", "preview", "-f", "cr.yaml", *where],
        cwd=project,
        env={**os.environ, "ANSIBLE_GATHERING": "explicit"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def preview(control_plane: ControlPlane, project: Project, things: Things) -> Preview:
    project.role("keep", KEEP)
    project.watch("keep")

    def run(spec: Object, name: str = "a") -> subprocess.CompletedProcess[str]:
        body = {"apiVersion": GROUP, "kind": "Thing", "metadata": {"name": name}, "spec": spec}
        return previewed(project.path, body, control_plane, things.observer.namespace)

    return run


@pytest.mark.usefixtures("subjects")
def test_preview_changes_nothing_whatever_module_is_used(
    control_plane: ControlPlane, project: Project, things: Things, observer: Observer
) -> None:
    project.role("table", table(node(observer), ONCE))
    project.watch("table", finalizer={"name": "test.example.com/bye", "role": "table"})
    audit = Audit(control_plane, observer.namespace)
    body = {"apiVersion": GROUP, "kind": "Thing", "metadata": {"name": "a"}, "spec": {}}

    shown = previewed(project.path, body, control_plane, observer.namespace)

    assert shown.returncode == 1, shown.stderr
    assert f"+++ ConfigMap {observer.namespace}/new (applied)" in shown.stdout
    assert PASSWORD not in shown.stdout + shown.stderr
    assert audit.changes() == []
    assert len(audit.dry_runs()) >= 6
    assert things.get("a") == {}


@pytest.mark.parametrize("kind", SAMPLES)
def test_preview_of_a_sample_changes_nothing(
    kind: str, control_plane: ControlPlane, things: Things, observer: Observer, tmp_path: Path
) -> None:
    observer.apply(ROOT / "crds")
    wait_for(f"{kind} to be served", partial(observer.serves, SAMPLE_GROUP, kind), seconds=30)
    observer.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "registry-login"}})
    for name in ("roles", "playbooks", "watches.yaml"):
        (tmp_path / name).symlink_to(ROOT / name)
    audit = Audit(control_plane, observer.namespace)
    body = {"apiVersion": SAMPLE_GROUP, "kind": kind, "metadata": {"name": "a"}, "spec": SAMPLES[kind]}

    shown = previewed(tmp_path, body, control_plane, observer.namespace)

    assert shown.returncode == 1, shown.stderr
    assert f"+++ {kind} {observer.namespace}/a (applied)" in shown.stdout
    assert audit.changes() == []
    assert audit.dry_runs()


def test_preview_shows_what_a_new_resource_would_make(
    preview: Preview, things: Things, observer: Observer, control_plane: ControlPlane
) -> None:
    audit = Audit(control_plane, observer.namespace)

    shown = preview({"greeting": "hi"})

    assert shown.returncode == 1, shown.stderr
    assert f"+++ Thing {observer.namespace}/a (applied)" in shown.stdout
    assert f"+++ ConfigMap {observer.namespace}/a (applied)" in shown.stdout
    assert "+  greeting: hi\n" in shown.stdout
    assert audit.changes() == []
    assert things.get("a") == {}


def test_preview_refuses_an_unknown_field_as_kubectl_apply_does(
    project: Project, things: Things, control_plane: ControlPlane
) -> None:
    project.role("keep", KEEP)
    project.watch("keep")
    body = {"apiVersion": GROUP, "kind": "Thing", "metadata": {"name": "a"}, "sepc": {"greeting": "hi"}}

    shown = previewed(project.path, body, control_plane, things.observer.namespace)

    assert (shown.returncode, shown.stdout) == (2, "")
    assert 'unknown field "sepc"' in shown.stderr


def test_preview_that_fails_ends_with_2(preview: Preview, project: Project) -> None:
    project.role("keep", "- {name: Refuse, ansible.builtin.fail: {msg: not that}}")

    failed, unknown = preview({}), preview({}, "No Name")

    assert (failed.returncode, "not that" in failed.stderr) == (2, True)
    assert (unknown.returncode, "Error: " in unknown.stderr) == (2, True)
