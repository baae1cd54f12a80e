"""The manifests in config/, before a real API server: they build, they are accepted, and the pod may run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.observer import Observer, wait_for
from runner.cli import main
from runner.config.flags import RUN_FLAGS
from runner.dev.controlplane import ControlPlane
from tests.fixtures.manifests import (
    CONFIG,
    NAMESPACE,
    built,
    built_with_own_certificate,
    define_cert_manager,
    kubectl,
    manager_container,
)
from tests.fixtures.operators import PATIENCE

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("manifests")]
DIRECTORIES = sorted(
    path.parent.name for path in CONFIG.glob("*/kustomization.yaml") if "kind: Component" not in path.read_text()
)


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane) -> Iterator[Observer]:
    """A view of the sample operator's namespace, with config/default applied.

    But the webhooks: nobody would answer, and no test after this one could create a sample.
    """
    define_cert_manager(control_plane)
    observer = Observer(control_plane.kubeconfig, NAMESPACE)
    for body in built("default"):
        if body["kind"].endswith("WebhookConfiguration"):
            continue
        if body["kind"] == "CustomResourceDefinition" and body["spec"].pop("conversion", None):
            for version in body["spec"]["versions"]:
                version["served"] = version["storage"]
        observer.apply(body, namespace=body["metadata"].get("namespace", ""))
    yield observer
    observer.delete("v1", "Namespace", NAMESPACE)
    observer.close()


@pytest.mark.parametrize("name", DIRECTORIES)
def test_a_kustomization_builds(name: str) -> None:
    assert built(name)


def test_the_pod_is_admitted_under_the_restricted_standard(installed: Observer) -> None:
    wait_for(
        "the Deployment to have its pod",
        lambda: _deployment(installed)["status"].get("availableReplicas") == 1,
        seconds=PATIENCE,
    )


@pytest.mark.parametrize("name", [name for name in DIRECTORIES if name != "prometheus"])
def test_the_api_server_accepts_every_object(name: str, installed: Observer, control_plane: ControlPlane) -> None:
    """But the ServiceMonitor, whose kind this cluster has not."""
    if name in ("rbac", "manager", "network-policy"):
        installed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "system"}})
    arguments = ["apply", "--server-side", "--dry-run=server", "--force-conflicts", "-k", str(CONFIG / name)]
    answer = _kubectl(control_plane, *arguments)
    assert answer.count("serverside-applied (server dry run)") == len(built(name))


def test_no_directory_of_the_pod_can_fill_the_node() -> None:
    (deployment,) = (body for body in built("manager") if body["kind"] == "Deployment")
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    assert [volume["name"] for volume in volumes if not volume["emptyDir"].get("sizeLimit")] == []


def test_the_operator_knows_every_flag_of_the_deployment() -> None:
    given = {argument.partition("=")[0] for argument in manager_container(built("default"))["args"]}
    assert given <= {f"--{flag.name}" for flag in RUN_FLAGS}


def test_the_account_may_do_what_the_operator_does_and_no_more(
    installed: Observer, control_plane: ControlPlane
) -> None:
    def may(verb: str, resource: str, namespace: str = "anywhere") -> bool:
        account = f"--as=system:serviceaccount:{NAMESPACE}:sample-operator-controller-manager"
        resource, _, subresource = resource.partition("/")  # kubectl would take it for the name of an object
        arguments = [verb, resource, f"--subresource={subresource}", account, "-n", namespace]
        answer = _kubectl(control_plane, "auth", "can-i", *arguments, check=False)
        return answer.strip() == "yes"

    leases = "leases.coordination.k8s.io"
    granted = [
        ("list", "podsets.sample.example.com"),
        ("update", "podsets.sample.example.com/status"),
        ("create", "deployments.apps"),
        ("create", "events"),
        *((verb, leases, NAMESPACE) for verb in ("get", "create", "update")),
        ("create", "tokenreviews.authentication.k8s.io"),
    ]
    refused = [
        ("get", "secrets"),
        ("delete", "podsets.sample.example.com"),
        ("update", "podsets.sample.example.com"),
        ("patch", "podsets.sample.example.com/status"),
        ("update", leases),
        *((verb, leases, NAMESPACE) for verb in ("list", "watch", "patch", "delete")),
        ("list", "customresourcedefinitions.apiextensions.k8s.io"),
        *(
            (verb, f"{kind}webhookconfigurations.admissionregistration.k8s.io")
            for kind in ("mutating", "validating")
            for verb in ("list", "patch", "update")
        ),
        *((verb, "secrets", NAMESPACE) for verb in ("get", "update")),
    ]
    assert ([what for what in granted if not may(*what)], [what for what in refused if may(*what)]) == ([], [])


def test_with_its_own_certificate_the_account_may_change_its_webhooks_and_one_secret_by_name(
    tmp_path: Path, installed: Observer, control_plane: ControlPlane
) -> None:
    roles = [
        body
        for body in built_with_own_certificate(tmp_path)
        if body["metadata"]["name"].startswith("sample-operator-webhook-") and "rbac" in body["apiVersion"]
    ]
    for body in roles:
        installed.apply(body, namespace=body["metadata"].get("namespace", ""))

    def may(verb: str, what: str) -> bool:
        account = f"--as=system:serviceaccount:{NAMESPACE}:sample-operator-controller-manager"
        command = ["auth", "can-i", verb, what, account, "-n", NAMESPACE]
        return _kubectl(control_plane, *command, check=False).strip() == "yes"

    configurations = "validatingwebhookconfigurations.admissionregistration.k8s.io"
    asked = {
        f"{verb} {what}": may(verb, what)
        for verb, what in (
            ("patch", f"{configurations}/sample-operator-webhooks"),
            ("patch", f"{configurations}/of-somebody-else"),
            ("get", "secrets/sample-operator-webhook-cert"),
            ("update", "secrets/sample-operator-webhook-cert"),
            ("get", "secrets/another"),
        )
    }
    for body in roles:
        metadata = body["metadata"]
        installed.delete(
            body["apiVersion"], body["kind"], metadata["name"], namespace=metadata.get("namespace", "")
        )
    assert [what for what, allowed in asked.items() if allowed] == [
        f"patch {configurations}/sample-operator-webhooks",
        "get secrets/sample-operator-webhook-cert",
        "update secrets/sample-operator-webhook-cert",
    ]


@pytest.mark.parametrize("certificate", ["certmanager", "own-certificate"])
def test_the_api_server_accepts_webhooks_as_they_are_generated(
    tmp_path: Path, certificate: str, installed: Observer, control_plane: ControlPlane
) -> None:
    """With every field that there is, and none that there is not; kustomize puts prefixes on all names."""
    for name in ("config", "crds", "roles", "playbooks"):
        shutil.copytree(CONFIG.parent / name, tmp_path / name)
    watch: dict[str, Any] = {
        "group": "sample.example.com",
        "version": "v1alpha1",
        "kind": "HelloApp",
        "role": "helloapp",
    }
    watch |= {"admission": {"validate": {"tasks": "main"}, "default": {"tasks": "main"}}}
    watch |= {"versions": {"v1beta1": {"to": {"size": "spec.size"}, "from": {"size": "spec.size"}}}}
    (tmp_path / "watches.yaml").write_text(yaml.safe_dump([watch]))
    assert main(["generate", "manifests", str(tmp_path)]) == 0
    default = tmp_path / "config/default/kustomization.yaml"
    default.write_text(default.read_text().replace("../certmanager", f"../{certificate}"))
    directory = str(default.parent)
    flags = ["--server-side", "--dry-run=server", "--force-conflicts", "--validate=strict"]
    answer = _kubectl(control_plane, "apply", *flags, "-k", directory)
    assert "validatingwebhookconfiguration.admissionregistration.k8s.io/sample-operator-webhooks" in answer
    built_ = _kubectl(control_plane, "kustomize", directory)
    (crd,) = (one for one in yaml.safe_load_all(built_) if one["metadata"]["name"].startswith("helloapps."))
    service = crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    assert (service["name"], service["namespace"]) == ("sample-operator-webhook-service", NAMESPACE)


def _deployment(observer: Observer) -> dict[str, Any]:
    return observer.get("apps/v1", "Deployment", "sample-operator-controller-manager") or {"status": {}}


def _kubectl(control_plane: ControlPlane, *arguments: str, check: bool = True) -> str:
    command = [str(kubectl()), f"--kubeconfig={control_plane.kubeconfig}", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert not check or ended.returncode == 0, ended.stderr
    return ended.stdout
