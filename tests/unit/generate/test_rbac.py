"""`generate rbac`: roles from what files tell or runs were seen to do, for all namespaces or for some."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main
from runner.generate.kustomize import built

ROOT = Path(__file__).parents[3]
Capture = pytest.CaptureFixture[str]
WATCHES = "- {group: g.example.com, version: v1, kind: Shop, role: r, markUnsafe: true}\n"
TASKS = """\
- kubernetes.core.k8s: {definition: {apiVersion: apps/v1, kind: Deployment}}
- kubernetes.core.k8s: {state: absent, kind: Secret, api_version: v1}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A role that writes Deployments and, on some days, deletes a Secret."""
    path = tmp_path / "project"
    (path / "roles/r/tasks").mkdir(parents=True)
    (path / "watches.yaml").write_text(WATCHES)
    (path / "roles/r/tasks/main.yml").write_text(TASKS)
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Where an operator has left the runs of a Shop."""
    return tmp_path / "runs"


def seen(runs: Path, *calls: list[str], kind: str = "Shop") -> None:
    file = runs / str(len(list(runs.glob("*")))) / "run.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"kind": kind, "namespace": "a", "name": "corner", "calls": calls}))


def granted(project: Path, *flags: str) -> dict[str, list[str]]:
    """The verbs of each group and resource in the ClusterRole that was written."""
    assert main(["generate", "rbac", str(project), *flags]) == 0
    role = yaml.safe_load((project / "config/rbac/role.yaml").read_text())
    return {
        f"{rule['apiGroups'][0]}/{resource}": rule["verbs"]
        for rule in role["rules"]
        for resource in rule["resources"]
    }


def test_what_is_written_is_what_rbac_prints(project: Path, capsys: Capture) -> None:
    granted(project)
    capsys.readouterr()
    main(["rbac", str(project)])
    assert (project / "config/rbac/role.yaml").read_text() == capsys.readouterr().out


def test_what_no_run_has_used_is_not_granted_and_told(project: Path, runs: Path, capsys: Capture) -> None:
    seen(runs, ["patch", "apps", "deployments", "a", "web"], ["get", "apps", "deployments", "a", "web"])
    found = granted(project, f"--from-runs={runs}")
    assert found["apps/deployments"] == ["get", "list", "patch", "watch"]
    assert "/secrets" not in found
    told = capsys.readouterr().err.splitlines()
    assert "not granted, for no run has used it: create, delete of deployments.apps" in told
    assert any(line.endswith("of secrets") for line in told)


def test_what_the_operator_does_itself_is_always_granted(project: Path, runs: Path) -> None:
    seen(runs, ["get", "", "pods", "a", "b"])
    found = granted(project, f"--from-runs={runs}")
    assert found["g.example.com/shops"] == ["get", "list", "watch"]
    assert found["g.example.com/shops/status"] == ["update"]
    assert found["/events"] == ["create", "patch"]


def test_what_no_file_tells_of_is_granted_and_told(project: Path, runs: Path, capsys: Capture) -> None:
    seen(runs, ["get", "", "nodes", "", "one"])
    assert granted(project, f"--from-runs={runs}")["/nodes"] == ["get"]
    assert "granted, though no file tells of it: get of nodes, by Shop a/corner (one)" in capsys.readouterr().err


def test_what_no_run_has_used_can_be_kept(project: Path, runs: Path, capsys: Capture) -> None:
    seen(runs, ["get", "", "nodes", "", "one"])
    found = granted(project, f"--from-runs={runs}", "--keep-unused")
    assert "delete" in found["/secrets"]
    assert "not granted" not in capsys.readouterr().err


def test_the_calls_of_all_runs_count(project: Path, runs: Path) -> None:
    seen(runs, ["get", "", "secrets", "a", "b"])
    seen(runs, ["delete", "", "secrets", "a", "b"])
    assert granted(project, f"--from-runs={runs}")["/secrets"] == ["delete", "get"]


def test_what_is_only_read_is_not_watched(project: Path, runs: Path) -> None:
    seen(runs, ["get", "", "secrets", "a", "b"])
    assert granted(project, f"--from-runs={runs}")["/secrets"] == ["get"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "x"}'])
def test_runs_that_tell_nothing_are_an_error(text: str, project: Path, runs: Path, capsys: Capture) -> None:
    runs.mkdir()
    (runs / "run.json").write_text(text)
    assert main(["generate", "rbac", str(project), f"--from-runs={runs}"]) == 1
    assert "no run has left its calls there" in capsys.readouterr().err


def objects(project: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((project / "config/namespaced/role.yaml").read_text()))


def test_an_operator_of_some_namespaces_has_a_role_and_a_binding_in_each(project: Path) -> None:
    flags = ["--namespaces=one,two", "--account=shop-system/shop"]
    assert main(["generate", "rbac", str(project), *flags]) == 0
    found = [(one["kind"], one["metadata"]["namespace"]) for one in objects(project)]
    assert found == [("Role", "one"), ("RoleBinding", "one"), ("Role", "two"), ("RoleBinding", "two")]
    assert objects(project)[1]["subjects"] == [
        {"kind": "ServiceAccount", "name": "shop", "namespace": "shop-system"}
    ]


def test_what_is_in_no_namespace_stays_in_a_cluster_role(project: Path, runs: Path) -> None:
    seen(runs, ["get", "", "nodes", "", "one"])
    flags = ["--namespaces=a", "--account=s/shop", f"--from-runs={runs}"]
    main(["generate", "rbac", str(project), *flags])
    *_, role, binding = objects(project)
    assert (role["kind"], role["rules"][0]["resources"]) == ("ClusterRole", ["nodes"])
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


def test_a_call_in_another_namespace_is_told(project: Path, runs: Path, capsys: Capture) -> None:
    seen(runs, ["get", "", "secrets", "shared", "b"])
    main(["generate", "rbac", str(project), "--namespaces=a", "--account=s/shop", f"--from-runs={runs}"])
    told = "not granted, for it is not in a: get of secrets in shared, by Shop a/corner"
    assert told in capsys.readouterr().err


def test_an_account_that_nobody_names_is_asked_for(project: Path, capsys: Capture) -> None:
    assert main(["generate", "rbac", str(project), "--namespaces=a"]) == 1
    assert "give --account NAMESPACE/NAME" in capsys.readouterr().err


def test_an_overlay_takes_the_place_of_the_cluster_role(tmp_path: Path) -> None:
    for name in ("config", "crds", "roles", "playbooks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "watches.yaml", tmp_path)
    assert main(["generate", "rbac", str(tmp_path), "--namespaces=one,two"]) == 0
    made = built(tmp_path / "config/namespaced")
    names = {(one["kind"], one["metadata"]["name"]) for one in made}
    assert ("ClusterRole", "sample-operator-manager-role") not in names
    (deployment,) = (one for one in made if one["kind"] == "Deployment")
    env = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "WATCH_NAMESPACE", "value": "one,two"} in env
    (binding, *_) = (
        one for one in made if one["kind"] == "RoleBinding" and one["metadata"].get("namespace") == "one"
    )
    assert binding["subjects"][0]["name"] == "sample-operator-controller-manager"
    assert binding["subjects"][0]["namespace"] == "sample-operator-system"
