"""The ClusterRole that tools/rbac.py makes: of the watched kinds, and of what tasks and templates name."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from tools.rbac import READ, WRITE, Touch, cluster_role, guessed_plural, of_project, of_tasks, of_text, rules

ROOT = Path(__file__).parents[3]


def tasks(text: str) -> list[Touch | str]:
    return list(of_tasks(yaml.safe_load(dedent(text))))


def resources_of(role: dict[str, Any]) -> dict[str, list[str]]:
    return {
        f"{rule['apiGroups'][0]}/{resource}": rule["verbs"]
        for rule in role["rules"]
        for resource in rule["resources"]
    }


def test_the_role_in_config_is_what_the_sample_operator_needs() -> None:
    role, _ = cluster_role(ROOT, "manager-role")
    assert yaml.safe_load((ROOT / "config/rbac/role.yaml").read_text()) == role


def test_what_the_sample_operator_decides_at_run_time_is_told() -> None:
    _, unknown = of_project(ROOT)
    assert unknown == [
        "playbooks/cibuild.yml: task 'Remove the Jobs of earlier specs': "
        "its definition is '{{ cibuild_superseded }}'"
    ]


@pytest.mark.parametrize(
    ("finalizer", "verbs"),
    [("", ["get", "list", "watch"]), (", finalizer: {name: g/f}", ["get", "list", "update", "watch"])],
)
def test_a_watched_kind_may_be_read_and_its_status_written_and_with_a_finalizer_it_may_be_changed(
    tmp_path: Path, finalizer: str, verbs: list[str]
) -> None:
    watch = f"- {{group: g.example.com, version: v1, kind: Policy, role: r{finalizer}}}"
    (tmp_path / "watches.yaml").write_text(watch)
    granted = resources_of(cluster_role(tmp_path, "any")[0])
    assert granted["g.example.com/policies"] == verbs
    assert granted["g.example.com/policies/status"] == ["update"]
    assert granted["g.example.com/policies/finalizers"] == ["update"]


def test_the_role_of_leader_election_is_what_the_elector_needs() -> None:
    role = next(yaml.safe_load_all((ROOT / "config/rbac/leader_election_role.yaml").read_text()))
    assert role["rules"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]}
    ]


def test_the_name_of_a_resource_is_the_one_in_its_crd(tmp_path: Path) -> None:
    (tmp_path / "watches.yaml").write_text("- {group: g.example.com, version: v1, kind: Goose, role: r}")
    (tmp_path / "crds").mkdir()
    crd = {
        "kind": "CustomResourceDefinition",
        "spec": {"group": "g.example.com", "names": {"kind": "Goose", "plural": "geese"}},
    }
    (tmp_path / "crds/geese.yaml").write_text(yaml.safe_dump(crd))
    assert "g.example.com/geese" in resources_of(cluster_role(tmp_path, "any")[0])


def test_templates_and_tagged_values_of_a_project_are_read(tmp_path: Path) -> None:
    (tmp_path / "watches.yaml").write_text("[]")
    for name, text in {
        "tasks/main.yml": "- k8s: {template: a.j2}\n  vars: {secret: !vault abc}\n",
        "templates/a.j2": "{% if x %}\n---\napiVersion: apps/v1\nkind: StatefulSet\n{% endif %}\n",
    }.items():
        path = tmp_path / "roles/any" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert resources_of(cluster_role(tmp_path, "any")[0])["apps/statefulsets"] == sorted(WRITE)


def test_a_definition_in_a_task_is_written() -> None:
    found = tasks("""
        - block:
            - kubernetes.core.k8s:
                definition: {apiVersion: batch/v1, kind: CronJob}
    """)
    assert found == [Touch("batch/v1", "CronJob", WRITE)]


def test_a_definition_in_a_text_is_written() -> None:
    found = tasks("""
        - k8s:
            definition: |
              apiVersion: v1
              kind: Secret
              metadata: {name: "{{ name }}"}
    """)
    assert found == [Touch("v1", "Secret", WRITE)]


def test_a_kind_that_is_only_looked_at_may_not_be_written() -> None:
    assert tasks("- k8s_info: {kind: Node}") == [Touch("v1", "Node", READ)]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("- k8s_exec: {pod: a}", Touch("v1", "Pod", ("create", "get"), "exec")),
        ("- k8s_log: {name: a}", Touch("v1", "Pod", ("get",), "log")),
        (
            "- k8s_scale: {api_version: apps/v1, kind: Deployment}",
            Touch("apps/v1", "Deployment", ("get", "patch", "update"), "scale"),
        ),
        (
            "- operator_sdk.util.k8s_status: {api_version: g/v1, kind: Thing}",
            Touch("g/v1", "Thing", ("get", "patch", "update"), "status"),
        ),
    ],
)
def test_a_module_for_a_subresource_needs_that_subresource(task: str, expected: Touch) -> None:
    assert expected in tasks(task)


def test_a_kind_in_a_variable_cannot_be_told() -> None:
    assert tasks("- {name: Look, k8s_info: {kind: '{{ kind }}'}}") == [
        "task 'Look': its kind is '{{ kind }}' of 'v1'"
    ]


def test_a_text_without_a_kind_is_no_manifest() -> None:
    assert list(of_text("[defaults]\nroles_path = here\n")) == []


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Deployment", "deployments"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Endpoints", "endpoints"),
    ],
)
def test_the_plural_of_a_built_in_kind_is_guessed(kind: str, plural: str) -> None:
    assert guessed_plural(kind) == plural


def test_resources_of_one_group_with_the_same_verbs_share_a_rule() -> None:
    made = rules([Touch("v1", "Pod", READ), Touch("v1", "Node", READ), Touch("v1", "Secret", WRITE)], {})
    assert [rule["resources"] for rule in made] == [["secrets"], ["nodes", "pods"]]
