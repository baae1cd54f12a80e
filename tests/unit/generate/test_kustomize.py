"""Manifests as kustomize builds them, as far as it is understood here, and a plain refusal of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from runner.errors import SettingsError
from runner.generate.kustomize import built, split_image

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec:
  template:
    spec:
      serviceAccountName: account
      containers:
        - name: manager
          image: controller:latest
          env: [{name: A, value: '1'}]
      volumes: [{name: key, secret: {secretName: key}}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: account}
---
apiVersion: v1
kind: Secret
metadata: {name: key}
"""


def build(path: Path, kustomization: str, more: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What `kustomization` makes of the Deployment, and of more files, by kind."""
    for name, text in {"kustomization.yaml": kustomization, "all.yaml": DEPLOYMENT, **(more or {})}.items():
        (path / name).write_text(dedent(text))
    return {found["kind"]: found for found in built(path)}


def pod(objects: Mapping[str, Any]) -> Any:
    return objects["Deployment"]["spec"]["template"]["spec"]


def test_names_and_what_names_them_get_the_prefix(tmp_path: Path) -> None:
    made = build(tmp_path, "resources: [all.yaml]\nnamePrefix: shop-\nnameSuffix: -x\n")
    assert {kind: found["metadata"]["name"] for kind, found in made.items()} == {
        "Deployment": "shop-manager-x",
        "ServiceAccount": "shop-account-x",
        "Secret": "shop-key-x",
    }
    assert pod(made)["serviceAccountName"] == "shop-account-x"
    assert pod(made)["volumes"] == [{"name": "key", "secret": {"secretName": "shop-key-x"}}]


def test_what_is_somebody_elses_keeps_its_name(tmp_path: Path) -> None:
    binding = """\
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRoleBinding
        metadata: {name: b}
        roleRef: {kind: ClusterRole, name: view}
        subjects: [{kind: ServiceAccount, name: account}]
    """
    made = build(tmp_path, "resources: [all.yaml, b.yaml]\nnamePrefix: shop-\n", {"b.yaml": binding})
    assert made["ClusterRoleBinding"]["roleRef"]["name"] == "view"
    assert made["ClusterRoleBinding"]["subjects"][0]["name"] == "shop-account"


def test_kinds_that_name_themselves_get_no_prefix(tmp_path: Path) -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: system}\n"
    made = build(tmp_path, "resources: [n.yaml]\nnamePrefix: shop-\n", {"n.yaml": namespace})
    assert made["Namespace"]["metadata"]["name"] == "system"


@pytest.mark.parametrize(
    ("entry", "image"),
    [
        ("newName: r.example.com:5000/shop", "r.example.com:5000/shop:latest"),
        ("newTag: v1", "controller:v1"),
        ("newName: shop, newTag: v1", "shop:v1"),
        ("digest: 'sha256:ab'", "controller@sha256:ab"),
    ],
)
def test_an_image_is_replaced(entry: str, image: str, tmp_path: Path) -> None:
    made = build(tmp_path, f"resources: [all.yaml]\nimages: [{{name: controller, {entry}}}]\n")
    assert pod(made)["containers"][0]["image"] == image


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("a", ("a", "")),
        ("a:1", ("a", ":1")),
        ("h:5000/a", ("h:5000/a", "")),
        ("h:5000/a:1@sha256:c", ("h:5000/a", ":1@sha256:c")),
    ],
)
def test_an_image_is_told_from_its_version(image: str, parts: tuple[str, str]) -> None:
    assert split_image(image) == parts


def test_a_strategic_merge_patch_merges_containers_by_name(tmp_path: Path) -> None:
    patch = """\
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: manager}
        spec:
          template:
            spec:
              containers:
                - name: manager
                  env: [{name: B, value: '2'}]
                  ports: [{containerPort: 9443}]
    """
    made = build(tmp_path, "resources: [all.yaml]\npatches: [{path: p.yaml}]\n", {"p.yaml": patch})
    (container,) = pod(made)["containers"]
    assert {one["name"] for one in container["env"]} == {"A", "B"}
    assert container["ports"] == [{"containerPort": 9443}]
    assert container["image"] == "controller:latest"


def test_a_patch_can_delete_an_object(tmp_path: Path) -> None:
    patch = "{apiVersion: v1, kind: Secret, metadata: {name: key}, $patch: delete}"
    made = build(tmp_path, f"resources: [all.yaml]\npatches:\n  - patch: '{patch}'\n")
    assert sorted(made) == ["Deployment", "ServiceAccount"]


def test_a_json_patch_changes_its_target_alone(tmp_path: Path) -> None:
    made = build(
        tmp_path,
        """\
        resources: [all.yaml]
        patches:
          - target: {kind: Deployment}
            patch: |-
              - {op: add, path: /spec/template/spec/containers/0/args, value: [--leader-elect]}
              - {op: remove, path: /spec/template/spec/volumes}
        """,
    )
    assert pod(made)["containers"][0]["args"] == ["--leader-elect"]
    assert "volumes" not in pod(made)


def test_a_json_patch_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    text = "resources: [all.yaml]\npatches:\n- target: {kind: Secret}\n  patch: '[{op: remove, path: /spec/x}]'\n"
    with pytest.raises(SettingsError, match="does not fit Secret key"):
        build(tmp_path, text)


def test_what_is_not_understood_is_refused_at_its_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"kustomization.yaml:2: replacements is not understood.*--manifests"):
        build(tmp_path, "resources: [all.yaml]\nreplacements: []\n")


def test_a_resource_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"kustomization.yaml:1: gone.yaml is not there"):
        build(tmp_path, "resources: [gone.yaml]\n")


def test_a_directory_without_a_kustomization_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"has no kustomization\.yaml"):
        built(tmp_path)
