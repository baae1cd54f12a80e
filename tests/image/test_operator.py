"""The sample operator's image in the cluster, as config/default would run it: its account, its arguments."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from bench.observer import Observer, condition, wait_for
from runner.dev.controlplane import ControlPlane
from tests.fixtures.containers import Container
from tests.fixtures.manifests import ACCOUNT, CERT_MANAGER, CONFIG, NAMESPACE, built, manager_container

pytestmark = pytest.mark.cluster
PATIENCE = 90.0
MEMCACHED = ("sample.example.com/v1alpha1", "Memcached")
NEED_A_NODE = ("Deployment", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
FREE_PORTS = ("--metrics-bind-address=0", "--health-probe-bind-address=0", "--proxy-port=0")


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane) -> Iterator[list[dict[str, Any]]]:
    """The objects of config/default, applied, but for the Deployment: the container here takes its place.

    Left out are kinds of cert-manager, which this cluster does not have, and webhook configurations: where no node
    is, the API server reaches no Service.
    """
    observer = Observer(control_plane.kubeconfig, NAMESPACE)
    objects = built("default")
    for body in objects:
        if body["kind"] not in NEED_A_NODE and body["apiVersion"] != CERT_MANAGER:
            observer.apply(body, namespace=body["metadata"].get("namespace", ""))
    wait_for("Memcached to be served", lambda: observer.serves(*MEMCACHED), seconds=PATIENCE)
    yield objects
    observer.close()


@pytest.fixture
def operator(
    sample_image: Container,
    control_plane: ControlPlane,
    installed: list[dict[str, Any]],
    namespace: str,
    tmp_path: Path,
) -> Container:
    """The container with the account's token where a kubelet puts it, watching the test's namespace."""
    manager = manager_container(installed)
    kubeconfig = yaml.safe_load(control_plane.kubeconfig.read_text())
    cluster = kubeconfig["clusters"][0]["cluster"]
    server = urlsplit(cluster["server"])
    sample_image.secrets = _account(control_plane, cluster["certificate-authority-data"], tmp_path / "account")
    sample_image.environment = {
        **{item["name"]: item["value"] for item in manager["env"]},
        "KUBERNETES_SERVICE_HOST": str(server.hostname),
        "KUBERNETES_SERVICE_PORT": str(server.port),
        "WATCH_NAMESPACE": namespace,
    }
    return sample_image


def test_a_custom_resource_is_reconciled(operator: Container, observer: Observer) -> None:
    operator.start(*_arguments())
    sample = yaml.safe_load((CONFIG.parent / "crds/samples/memcached.yaml").read_text())
    observer.create(sample)
    done = wait_for("the Memcached to be Successful", lambda: _successful(observer, sample), seconds=PATIENCE)
    deployment = observer.get("apps/v1", "Deployment", sample["metadata"]["name"]) or {}
    assert deployment["spec"]["replicas"] == sample["spec"]["size"]
    assert deployment["metadata"]["ownerReferences"][0]["uid"] == done["metadata"]["uid"]


def test_runs_are_warm(operator: Container, observer: Observer) -> None:
    operator.start(*_arguments())
    observer.create(yaml.safe_load((CONFIG.parent / "crds/samples/memcached.yaml").read_text()))
    operator.wait_for_log('"engine": "warm"', PATIENCE)


def test_it_stops_when_the_kubelet_says_so(operator: Container) -> None:
    operator.start(*_arguments())
    operator.wait_for_log('"msg": "Ready"', PATIENCE)
    assert operator.stop() == 0


def test_the_collections_of_the_requirements_are_there(sample_image: Container) -> None:
    (wanted,) = yaml.safe_load((CONFIG.parent / "requirements.yml").read_text())["collections"]
    listed = sample_image.run("ansible-galaxy", "collection", "list", wanted["name"], "--format", "yaml").stdout
    (path,) = yaml.safe_load(listed).items()
    assert path == (
        "/opt/ansible/.ansible/collections/ansible_collections",
        {wanted["name"]: {"version": wanted["version"]}},
    )


def _arguments() -> list[str]:
    """The Deployment's, but listening where several operators on this machine don't meet."""
    return [*manager_container(built("default"))["args"], *FREE_PORTS]


def _successful(observer: Observer, sample: dict[str, Any]) -> dict[str, Any] | None:
    body = observer.get(sample["apiVersion"], sample["kind"], sample["metadata"]["name"])
    return body if condition(body, "Successful").get("status") == "True" else None


def _account(control_plane: ControlPlane, authority: str, directory: Path) -> Path:
    """The files that a kubelet mounts for the operator's service account."""
    observer = Observer(control_plane.kubeconfig, NAMESPACE)
    directory.mkdir()
    (directory / "token").write_text(observer.token(ACCOUNT))
    (directory / "ca.crt").write_bytes(base64.b64decode(authority))
    (directory / "namespace").write_text(NAMESPACE)
    observer.close()
    return directory
