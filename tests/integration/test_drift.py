"""Check runs and `preview` on a real API server, whose audit log says that nothing is written but dry runs."""

from __future__ import annotations

import base64
import importlib.resources
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.observer import Object, Observer, condition, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import GROUP, PATIENCE, Operate, Project, Things

pytestmark = pytest.mark.cluster

MODE = "ansible.sdk.operatorframework.io/mode"
CHECK: dict[str, Any] = {"annotations": {MODE: "check"}}
PASSWORD = base64.b64encode(b"correct horse").decode()
KEEP = """
- name: Keep a ConfigMap
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}
      data: {greeting: "{{ greeting | default('hello') }}"}
"""
NAMESPACE = "namespace: '{{ ansible_operator_meta.namespace }}'"
CHANGED, SAME, SKIPPED = "changed", "ok", "skipped"
REFUSED = "check mode: the API proxy lets nothing pass"
NO_HELM = "Failed to find required executable"
MODULES = {
    "created": ("k8s", "{definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: new, NS}}}", CHANGED),
    "changed": ("k8s", "{definition: {THERE, data: {a: z}}}", CHANGED),
    "applied": ("k8s", "{apply: true, definition: {THERE, data: {b: z}}}", CHANGED),
    "applied by the server": (
        "k8s",
        "{apply: true, server_side_apply: {field_manager: t, force_conflicts: true},"
        " definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: ssa, NS}, data: {b: z}}}",
        CHANGED,
    ),
    "patched": ("k8s", "{state: patched, kind: ConfigMap, name: there, NS, definition: {data: {c: z}}}", CHANGED),
    "forced": ("k8s", "{force: true, definition: {THERE, data: {d: z}}}", CHANGED),
    "deleted": ("k8s", "{state: absent, api_version: v1, kind: ConfigMap, name: there, NS}", CHANGED),
    "secret": (
        "k8s",
        "{definition: {apiVersion: v1, kind: Secret, metadata: {name: login, NS}, data: {password: PASSWORD}}}",
        CHANGED,
    ),
    "json patch": (
        "k8s_json_patch",
        "{api_version: v1, kind: ConfigMap, name: there, NS, patch: [{op: add, path: /data/e, value: z}]}",
        CHANGED,
    ),
    "scaled": ("k8s_scale", "{api_version: apps/v1, kind: Deployment, name: web, NS, replicas: 3}", CHANGED),
    "service": ("k8s_service", "{name: svc, NS, ports: [{port: 80}], selector: {a: b}}", CHANGED),
    "rolled back": ("k8s_rollback", "{api_version: apps/v1, kind: Deployment, name: web, NS}", CHANGED),
    "cordoned": ("k8s_drain", "{name: NODE, state: cordon}", SKIPPED),
    "drained": ("k8s_drain", "{name: NODE, state: drain, delete_options: {force: true}}", SKIPPED),
    "tainted": ("k8s_taint", "{name: NODE, taints: [{key: a, effect: NoSchedule}]}", CHANGED),
    "copied": ("k8s_cp", "{pod: shell, NS, remote_path: /tmp/a, content: a}", REFUSED),
    "executed": ("k8s_exec", "{pod: shell, NS, command: date}", REFUSED),
    "logged": ("k8s_log", "{name: shell, NS}", SAME),
    "read": ("k8s_info", "{api_version: v1, kind: ConfigMap, NS}", SAME),
    "discovered": ("k8s_cluster_info", "{}", SAME),
    "a release": ("helm", "{name: a, chart_ref: /chart, release_namespace: default}", NO_HELM),
    "releases": ("helm_info", "{name: a, release_namespace: default}", NO_HELM),
    "a plugin": ("helm_plugin", "{plugin_path: /plugin}", NO_HELM),
    "plugins": ("helm_plugin_info", "{}", NO_HELM),
    "a chart": ("helm_pull", "{chart_ref: /chart, destination: /tmp}", NO_HELM),
    "a login": ("helm_registry_auth", "{host: localhost, username: a, password: correct-horse}", NO_HELM),
    "a repository": ("helm_repository", "{name: a, repo_url: 'http://localhost'}", NO_HELM),
    "a template": ("helm_template", "{chart_ref: /chart}", NO_HELM),
}
"""What is asked of which module, and what comes of it; k8s_drain has no check mode, helm is not installed."""
ONCE = {
    name: row
    for name, row in MODULES.items()
    if not row[0].startswith("helm")
    and name not in ("changed", "applied", "applied by the server", "patched", "forced", "drained")
}
"""Each module, but helm's, as often as it takes: one that is started anew for each task imports for a second."""
ROOT = Path(__file__).parents[2]
SAMPLE_GROUP = "sample.example.com/v1alpha1"
SAMPLES: dict[str, Object] = {
    "Memcached": {"size": 1},
    "HelloApp": {"image": "nginx:1.29", "size": 1},
    "PodSet": {"replicas": 1},
    "CIBuild": {
        "repository": "https://git.example.com/a.git",
        "revision": "main",
        "image": "registry.example.com/a:1",
        "deploy": False,
        "credentialsSecret": "registry-login",
    },
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}


def drifted(things: Things, name: str, status: str, seconds: float = PATIENCE) -> Object:
    def reached() -> Object | None:
        found = things.condition(name, "Drifted")
        return found if found.get("status") == status else None

    return wait_for(f"{name} to have Drifted {status}", reached, seconds=seconds)


class Audit:
    """The audit log from now on."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self._log = control_plane.audit_log
        self._namespace = namespace
        self._offset = self._log.stat().st_size

    def changes(self) -> list[str]:
        """Writes into the namespace, not by Kubernetes itself, that were no dry runs."""
        return [uri for uri in self._writes() if "dryRun=All" not in uri]

    def dry_runs(self) -> list[str]:
        return [uri for uri in self._writes() if "dryRun=All" in uri]

    def _writes(self) -> list[str]:
        with self._log.open("rb") as log:
            log.seek(self._offset)
            events = [json.loads(line) for line in log.read().decode().split("\n")[:-1]]
        return [f"{event['verb']} {event['requestURI']}" for event in events if self._is_write(event)]

    def _is_write(self, event: dict[str, Any]) -> bool:
        about = event.get("objectRef", {})
        ours = about.get("namespace") == self._namespace or about.get("resource") == "nodes"
        kubernetes = event.get("userAgent", "").startswith(("kube-", "kwok"))
        verbs = ("create", "update", "patch", "delete", "deletecollection")
        return ours and not kubernetes and event["verb"] in verbs and event["stage"] == "ResponseComplete"


def table(node: str, rows: Mapping[str, tuple[str, str, str]] = MODULES) -> str:
    """A role that asks everything of the table, and goes on after what fails."""
    tasks = [
        f"- name: {name}\n  kubernetes.core.{module}: {arguments}\n  ignore_errors: true\n"
        for name, (module, arguments, _) in rows.items()
    ]
    there = "apiVersion: v1, kind: ConfigMap, metadata: {name: there, NS}"
    given = "".join(tasks).replace("THERE", there).replace("NS", NAMESPACE)
    return given.replace("PASSWORD", PASSWORD).replace("NODE", node)


def came_of(runner_dir: Path) -> dict[str, str]:
    """What Ansible says of each task of the run: ok, changed, skipped, or why it failed."""
    found = {}
    for file in runner_dir.rglob("job_events/*.json"):
        event = json.loads(file.read_text())
        told, data = event["event"], event.get("event_data", {})
        if told == "runner_on_ok":
            found[data["task"]] = CHANGED if data["res"].get("changed") else SAME
        elif told in ("runner_on_failed", "runner_on_skipped"):
            found[data["task"]] = SKIPPED if told == "runner_on_skipped" else str(data["res"].get("msg"))
    return found


def as_expected(found: str, expected: str) -> bool:
    return found == expected if expected in (CHANGED, SAME, SKIPPED) else expected in found


@pytest.fixture
def everything(project: Project, things: Things, observer: Observer) -> None:
    """A role that uses every module, and what it acts on."""
    project.role("table", table(observer.list("v1", "Node")[0]["metadata"]["name"]))
    project.watch("table", finalizer={"name": "test.example.com/bye", "role": "table"})
    observer.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "there"}, "data": {"a": "y"}})
    observer.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "data": {"password": ""}}
    )
    pod = {"containers": [{"name": "shell", "image": "shell"}]}
    observer.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shell"}, "spec": pod})
    observer.create(DEPLOYMENT)
    for image in ("web:2", "web:3"):  # something to roll back to
        containers = [{"name": "web", "image": image}]
        observer.patch(
            "apps/v1", "Deployment", "web", {"spec": {"template": {"spec": {"containers": containers}}}}
        )
        wait_for("the revision", partial(rolled_out, observer, image), seconds=PATIENCE)


def rolled_out(observer: Observer, image: str) -> bool:
    sets = observer.list("apps/v1", "ReplicaSet")
    return any(each["spec"]["template"]["spec"]["containers"][0]["image"] == image for each in sets)


def test_every_module_of_the_collection_is_in_the_table() -> None:
    found = importlib.resources.files("ansible_collections.kubernetes.core.plugins.modules").iterdir()
    there = {Path(str(file)).stem for file in found if file.name.endswith(".py")} - {"__init__"}
    assert {module for module, _, _ in MODULES.values()} == there


@pytest.mark.usefixtures("everything")
def test_check_mode_leaves_all_as_it_is_whatever_module_is_used(
    operate: Operate, things: Things, observer: Observer, control_plane: ControlPlane
) -> None:
    things.create("a", **CHECK)
    audit = Audit(control_plane, observer.namespace)
    operator = operate("--executor=warm")

    found = drifted(things, "a", "True", seconds=2 * PATIENCE)

    own = f"update /apis/test.example.com/v1/namespaces/{observer.namespace}/things/a/status"
    assert {uri.partition("?")[0] for uri in audit.changes()} == {own}
    assert len(audit.dry_runs()) >= 8
    results = came_of(operator.runner_dir)
    assert {name: found for name, found in results.items() if not as_expected(found, MODULES[name][2])} == {}
    assert set(results) == set(MODULES)
    assert "ConfigMap" in found["message"]
    body = things.get("a")
    assert [each["type"] for each in body["status"]["conditions"]] == ["Drifted"]
    assert "finalizers" not in body["metadata"]
    assert PASSWORD not in json.dumps(body)
    assert list(operator.records("Watching dependents")) == []
    assert condition(body, "Drifted")["reason"] == "WouldChange"


def test_the_samples_are_checked_without_a_write(
    control_plane: ControlPlane, things: Things, observer: Observer, tmp_path: Path
) -> None:
    observer.apply(ROOT / "crds")
    observer.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "registry-login"}})
    for kind, spec in SAMPLES.items():
        wait_for(f"{kind} to be served", partial(observer.serves, SAMPLE_GROUP, kind), seconds=30)
        observer.create(
            {"apiVersion": SAMPLE_GROUP, "kind": kind, "metadata": {"name": "a", **CHECK}, "spec": spec}
        )
    audit = Audit(control_plane, observer.namespace)
    environment = {"WATCH_NAMESPACE": observer.namespace}

    with OperatorProcess(ROOT, control_plane.kubeconfig, tmp_path, environment=environment):
        found = {kind: wait_for(kind, partial(said, observer, kind), seconds=PATIENCE) for kind in SAMPLES}

    assert {kind: each["status"] for kind, each in found.items()} == dict.fromkeys(SAMPLES, "True"), found
    assert all("/status?" in uri and "/apis/sample.example.com/" in uri for uri in audit.changes())
    assert audit.dry_runs()


def said(observer: Observer, kind: str) -> Object | None:
    return condition(observer.get(SAMPLE_GROUP, kind, "a"), "Drifted") or None


def test_removing_the_annotation_runs_it_for_good(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    project.role("keep", KEEP)
    project.watch("keep")
    operate()
    things.create("a", **CHECK)
    said = drifted(things, "a", "True")["message"]
    assert said == f"A run would change 1 object: ConfigMap {observer.namespace}/a would be created"

    things.patch("a", {"metadata": {"annotations": {MODE: None}}})

    assert drifted(things, "a", "False")["reason"] == "InSync"
    things.wait("a", "Successful")
    assert observer.get("v1", "ConfigMap", "a") is not None


def test_a_manual_change_is_drift_until_the_next_real_run(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    project.role("keep", KEEP)
    project.watch("keep", driftPeriod="2s", watchDependentResources=False)
    operator = operate()
    things.create("a")
    things.wait("a", "Successful")
    before = drifted(things, "a", "False")["message"]
    runs = len(list(operator.records("Reconciled")))

    observer.patch("v1", "ConfigMap", "a", {"data": {"greeting": "changed"}})
    found = drifted(things, "a", "True", seconds=15)

    assert before == "A run would change nothing"
    assert found["message"] == f"A run would change 1 object: ConfigMap {observer.namespace}/a: data.greeting"
    assert things.condition("a", "Successful")["status"] == "True"
    assert len(list(operator.records("Reconciled"))) == runs  # a check is none
    assert (observer.get("v1", "ConfigMap", "a") or {})["data"] == {"greeting": "changed"}

    things.patch("a", {"spec": {"greeting": "again"}})
    drifted(things, "a", "False")
    assert (observer.get("v1", "ConfigMap", "a") or {})["data"] == {"greeting": "again"}


def test_a_check_that_fails_leaves_drift_unknown_and_is_no_failure(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    project.role(
        "exec", "- {name: Look, kubernetes.core.k8s_exec: {pod: x, NS, command: date}}".replace("NS", NAMESPACE)
    )
    project.watch("exec")
    observer.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "x"},
            "spec": {"containers": [{"name": "x", "image": "x"}]},
        }
    )
    operator = operate()
    things.create("a", **CHECK)

    found = drifted(things, "a", "Unknown")

    assert "check mode: the API proxy lets nothing pass" in found["message"]
    assert [each["type"] for each in things.status("a")["conditions"]] == ["Drifted"]
    assert list(operator.records("retry")) == []


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


@pytest.mark.usefixtures("everything")
def test_preview_changes_nothing_whatever_module_is_used(
    control_plane: ControlPlane, project: Project, things: Things, observer: Observer
) -> None:
    project.role("table", table(observer.list("v1", "Node")[0]["metadata"]["name"], ONCE))
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


def test_preview_of_a_change_shows_the_change_and_of_no_change_nothing(
    preview: Preview, project: Project, operate: Operate, things: Things
) -> None:
    operate()
    things.create("a", {"greeting": "hello"})
    things.wait("a", "Successful")

    same, other = preview({"greeting": "hello"}), preview({"greeting": "hi"})

    assert (same.returncode, same.stdout) == (0, ""), same.stderr
    assert other.returncode == 1
    assert "-  greeting: hello\n+  greeting: hi\n" in other.stdout


def test_preview_lists_what_would_be_pruned_and_deletes_none_of_it(
    project: Project, operate: Operate, things: Things, control_plane: ControlPlane
) -> None:
    loop = "  loop: '{{ names }}'\n"
    project.role("keep", KEEP.replace("name }}", "name }}-{{ item }}").replace("Keep a", "Keep each") + loop)
    project.watch("keep", prune=True)
    operate()
    things.create("a", {"names": ["one", "two"]})
    things.wait("a", "Successful")
    body = {"apiVersion": GROUP, "kind": "Thing", "metadata": {"name": "a"}, "spec": {"names": ["one"]}}

    shown = previewed(project.path, body, control_plane, things.observer.namespace)

    assert shown.returncode == 1, shown.stderr
    assert shown.stdout.endswith(f"Would be pruned:\n- ConfigMap {things.observer.namespace}/a-two\n")
    assert things.observer.get("v1", "ConfigMap", "a-two")


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
