"""`ansible-operator rbac`: the ClusterRole of the watched kinds, and of what tasks and templates name."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from runner.cli import main
from runner.validate.clusterrole import rules
from runner.validate.manifests.touches import READ, WRITE, Touch, guessed_plural, of_tasks, of_text

ROOT = Path(__file__).parents[3]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an empty role `r` and no watches."""
    (tmp_path / "roles/r").mkdir(parents=True)
    (tmp_path / "watches.yaml").write_text("[]")
    return tmp_path


def granted(project: Path, capsys: Capture) -> dict[str, list[str]]:
    """The verbs of each group and resource in the printed role."""
    assert main(["rbac", str(project)]) == 0
    return resources_of(yaml.safe_load(capsys.readouterr().out))


def tasks(text: str) -> list[Touch | str]:
    return list(of_tasks(yaml.safe_load(dedent(text))))


def resources_of(role: dict[str, Any]) -> dict[str, list[str]]:
    return {
        f"{rule['apiGroups'][0]}/{resource}": rule["verbs"]
        for rule in role["rules"]
        for resource in rule["resources"]
    }


def test_the_role_in_config_is_what_the_command_prints(capsys: Capture) -> None:
    assert main(["rbac", str(ROOT)]) == 0
    assert (ROOT / "config/rbac/role.yaml").read_text() == capsys.readouterr().out


def test_what_the_sample_operator_decides_at_run_time_is_told(capsys: Capture) -> None:
    main(["rbac", str(ROOT)])
    assert capsys.readouterr().err == (
        "cannot tell: playbooks/cibuild.yml: task 'Remove the Job that failed': "
        "its definition is '{{ cibuild_job }}'\n"
        "cannot tell: playbooks/cibuild.yml: task 'Remove the Jobs of earlier specs': "
        "its definition is '{{ cibuild_superseded }}'\n"
    )


def test_the_role_has_the_name_that_is_asked_for(project: Path, capsys: Capture) -> None:
    main(["rbac", "--name=other", str(project)])
    assert yaml.safe_load(capsys.readouterr().out)["metadata"] == {"name": "other"}


def test_a_directory_that_is_none_is_an_error(tmp_path: Path, capsys: Capture) -> None:
    assert main(["rbac", str(tmp_path / "none")]) == 1
    assert "none is not a directory" in capsys.readouterr().err


def test_mistakes_in_watches_are_errors_with_their_lines(project: Path, capsys: Capture) -> None:
    (project / "watches.yaml").write_text("- {group: g.example.com, version: v1, kind: Policy, role: absent}")
    assert main(["rbac", str(project)]) == 1
    written = capsys.readouterr()
    assert (written.out, "watches.yaml:1: [0].role: role: absent was not found" in written.err) == ("", True)


def test_tasks_that_cannot_be_read_are_told(project: Path, capsys: Capture) -> None:
    (project / "roles/r/broken.yml").write_text("- [")
    main(["rbac", str(project)])
    assert capsys.readouterr().err.startswith("cannot tell: roles/r/broken.yml: not YAML: ")


def test_tasks_that_are_encrypted_are_no_mistake(project: Path, capsys: Capture) -> None:
    (project / "roles/r/secret.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n6162\n")
    assert main(["rbac", str(project)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("finalizer", "verbs"),
    [
        ("", ["get", "list", "watch"]),
        (", finalizer: {name: g/f, vars: {a: 1}}", ["get", "list", "update", "watch"]),
    ],
)
def test_a_watched_kind_may_be_read_and_its_status_written_and_with_a_finalizer_it_may_be_changed(
    project: Path, finalizer: str, verbs: list[str], capsys: Capture
) -> None:
    watch = f"- {{group: g.example.com, version: v1, kind: Policy, role: r{finalizer}}}"
    (project / "watches.yaml").write_text(watch)
    found = granted(project, capsys)
    assert found["g.example.com/policies"] == verbs
    assert found["g.example.com/policies/status"] == ["update"]
    assert found["g.example.com/policies/finalizers"] == ["update"]


def test_a_status_that_the_operator_does_not_manage_is_not_written(project: Path, capsys: Capture) -> None:
    watch = "- {group: g.example.com, version: v1, kind: Policy, role: r, manageStatus: false}"
    (project / "watches.yaml").write_text(watch)
    assert "g.example.com/policies/status" not in granted(project, capsys)


def test_what_the_role_grants_leaves_the_check_nothing_to_find(project: Path, capsys: Capture) -> None:
    """`validate` and `rbac` know the same needs; leases are those of another role."""
    watch = "- {group: g.example.com, version: v1, kind: Policy, role: r, finalizer: {name: g/f, vars: {a: 1}}}"
    (project / "watches.yaml").write_text(watch)
    main(["rbac", str(project)])
    (project / "config").mkdir()
    (project / "config/role.yaml").write_text(capsys.readouterr().out)
    main(["validate", str(project)])
    assert "role.yaml" not in capsys.readouterr().out


def test_the_role_of_leader_election_is_what_the_elector_needs() -> None:
    role = next(yaml.safe_load_all((ROOT / "config/rbac/leader_election_role.yaml").read_text()))
    assert role["rules"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]}
    ]


@pytest.mark.parametrize("directory", ["crds", "config/crd", "deploy"])
def test_the_name_of_a_resource_is_the_one_in_its_crd(project: Path, directory: str, capsys: Capture) -> None:
    (project / "watches.yaml").write_text("- {group: g.example.com, version: v1, kind: Goose, role: r}")
    (project / directory).mkdir(parents=True)
    crd = {
        "kind": "CustomResourceDefinition",
        "spec": {"group": "g.example.com", "names": {"kind": "Goose", "plural": "geese"}},
    }
    (project / directory / "geese.yaml").write_text(yaml.safe_dump(crd))
    assert "g.example.com/geese" in granted(project, capsys)


def test_templates_and_tagged_values_of_a_project_are_read(project: Path, capsys: Capture) -> None:
    for name, text in {
        "tasks/main.yml": "- k8s: {template: a.j2}\n  vars: {secret: !vault abc}\n",
        "templates/a.j2": "{% if x %}\n---\napiVersion: apps/v1\nkind: StatefulSet\n{% endif %}\n",
    }.items():
        path = project / "roles/any" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert granted(project, capsys)["apps/statefulsets"] == sorted({*WRITE} - {"update"})


@pytest.mark.parametrize(
    "task",
    [
        "- k8s: {template: a.j2, force: true}",
        "- k8s:\n    template: a.j2\n    force: '{{ forced }}'",
        "- k8s: template=a.j2 force=yes",
        '- block: []\n  module_defaults: {group/kubernetes.core.k8s: {"force": true}}',
    ],
)
def test_what_is_there_may_be_replaced_where_a_task_has_force_and_else_patched(
    project: Path, task: str, capsys: Capture
) -> None:
    (project / "roles/r/templates").mkdir()
    (project / "roles/r/templates/a.j2").write_text("apiVersion: apps/v1\nkind: StatefulSet\n")
    assert "update" not in granted(project, capsys)["apps/statefulsets"]
    (project / "roles/r/tasks.yml").write_text(task)
    assert granted(project, capsys)["apps/statefulsets"] == sorted(WRITE)


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


@pytest.mark.parametrize(
    ("state", "verbs"),
    [
        ("absent", ("delete", *READ)),
        ("patched", (*READ, "patch", "update")),
        ("present", WRITE),
        ("'{{ state }}'", WRITE),
    ],
)
def test_a_state_that_is_written_out_asks_for_its_verbs_alone(state: str, verbs: tuple[str, ...]) -> None:
    found = tasks(f"- kubernetes.core.k8s: {{state: {state}, kind: Secret, api_version: v1}}")
    assert found == [Touch("v1", "Secret", verbs)]


def test_the_items_of_a_list_are_what_is_written() -> None:
    found = tasks("- k8s: {definition: {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret}]}}")
    assert found == [Touch("v1", "Secret", WRITE)]


@pytest.mark.parametrize(
    "text",
    ["apiVersion: v1\nkind: Config\n", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"],
)
def test_a_file_format_that_looks_like_an_object_is_none(text: str) -> None:
    assert list(of_text(text)) == []


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
    made = rules([Touch("v1", "Pod", READ), Touch("v1", "Node", READ), Touch("v1", "Secret", WRITE)], [])
    assert [rule["resources"] for rule in made] == [["secrets"], ["nodes", "pods"]]
