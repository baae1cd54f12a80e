"""Other projects than the sample operator: one that `init` made, and one that the Go operator's tools made."""

from __future__ import annotations

import json
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main
from tests.node import operators
from tests.node.builds import Builder, make
from tests.node.cluster import Cluster

pytestmark = pytest.mark.cluster
GO_PROJECT = Path(__file__).with_name("goproject")
SHOP, SHOP_IMAGE = "shop-system", "localhost/shop:test"
GO, GO_IMAGE = "memcached-operator-system", "localhost/memcached-operator:next"
GO_DEPLOYMENT = "deployment/memcached-operator-controller-manager"
# As the Go operator leaves them: a Lease whose holder is gone, and a custom resource that it has reconciled.
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "memcached-operator", "namespace": GO},
    "spec": {
        "holderIdentity": "memcached-operator-controller-manager-5d7f_6a1f",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:10:00.000000Z",
        "leaseTransitions": 3,
    },
}
GO_STATUS = {
    "conditions": [
        {
            "type": "Running",
            "status": "True",
            "reason": "Successful",
            "message": "Awaiting next reconciliation",
            "lastTransitionTime": "2026-01-01T00:00:10Z",
        },
        {
            "type": "Successful",
            "status": "True",
            "reason": "Successful",
            "message": "Last reconciliation succeeded",
            "lastTransitionTime": "2026-01-01T00:00:10Z",
            "ansibleResult": {
                "changed": 1,
                "completion": "2026-01-01T00:00:10",
                "failures": 0,
                "ok": 1,
                "skipped": 0,
            },
        },
    ]
}


@pytest.fixture(scope="module")
def builder(operator_image: None, tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(tmp_path_factory.mktemp("builder"))


@pytest.mark.timeout(300)
def test_a_project_that_was_made_by_init_is_built_and_deployed_by_its_own_makefile(
    cluster: Cluster, namespace: str, builder: Builder, tmp_path: Path
) -> None:
    project = tmp_path / "shop"
    assert main(["init", "--domain", "example.com", str(project)]) == 0
    kind = ["--group", "web", "--version", "v1alpha1", "--kind", "Website"]
    with chdir(project):
        assert main(["create", "api", *kind]) == 0
        assert main(["create", "webhook", *kind]) == 0
    default = project / "config/default/kustomization.yaml"  # there is no cert-manager on this node
    default.write_text(default.read_text().replace("../certmanager", "../own-certificate"))
    image = ["make", "image", f"CONTAINER_TOOL={builder.tool}", f"IMG={SHOP_IMAGE}"]
    builder.build(project, image, SHOP_IMAGE, cluster)
    make(cluster, project, "deploy", f"IMG={SHOP_IMAGE}")
    try:
        with operators.explained(cluster, SHOP):
            cluster.kubectl("rollout", "status", "deployment", "-n", SHOP, "--timeout=90s", seconds=100)
            sample = _sample(project / "config/samples")
            operators.admitted(cluster, sample, namespace)
            cluster.apply(sample, namespace)
            name = f"website/{sample['metadata']['name']}"
            cluster.kubectl("wait", "--for=condition=Successful", name, "-n", namespace, "--timeout=50s")
            cluster.kubectl("delete", name, "-n", namespace, "--timeout=50s")
    finally:
        make(cluster, project, "undeploy")


@pytest.mark.timeout(300)
def test_the_go_operator_s_manifests_go_on_with_another_image_alone(
    cluster: Cluster, namespace: str, builder: Builder, tmp_path: Path
) -> None:
    project = shutil.copytree(GO_PROJECT, tmp_path / "memcached-operator")
    dockerfile = project / "Dockerfile"
    dockerfile.write_text("FROM ansible-operator-runner\n" + dockerfile.read_text().split("\n", 1)[1])
    builder.build(project, [builder.tool, "build", "-t", GO_IMAGE, "."], GO_IMAGE, cluster)
    cluster.kubectl("apply", f"--kustomize={project}/config/default")
    try:
        _left_by_go(cluster, namespace, project)
        cluster.kubectl("set", "image", GO_DEPLOYMENT, f"manager={GO_IMAGE}", "-n", GO)
        with operators.explained(cluster, GO):
            cluster.kubectl("rollout", "status", GO_DEPLOYMENT, "-n", GO, "--timeout=90s", seconds=100)
            _goes_on(cluster, namespace)
    finally:
        cluster.kubectl("delete", f"--kustomize={project}/config/default")


def _left_by_go(cluster: Cluster, namespace: str, project: Path) -> None:
    cluster.apply(LEASE, GO)
    cluster.apply(_sample(project / "config/samples"), namespace)
    status = json.dumps({"status": GO_STATUS})
    patch = ("--subresource=status", "--type=merge", f"--patch={status}")
    cluster.kubectl("patch", "memcached.cache.example.com/memcached-sample", "-n", namespace, *patch)


def _goes_on(cluster: Cluster, namespace: str) -> None:
    """It reconciles at its start, on a change and at the end; and it tells of runs, and of its figures."""
    within = ("-n", namespace, "--timeout=50s")
    cluster.kubectl("wait", "--for=create", "deployment/memcached-sample-memcached", *within)
    resource = "memcached.cache.example.com/memcached-sample"
    cluster.kubectl("patch", resource, "-n", namespace, "--type=merge", '--patch={"spec": {"size": 2}}')
    replicas = "--for=jsonpath={.spec.replicas}=2"
    cluster.kubectl("wait", replicas, "deployment/memcached-sample-memcached", *within)
    cluster.kubectl("wait", "--for=condition=Successful", resource, *within)
    runs = cluster.kubectl("exec", GO_DEPLOYMENT, "-n", GO, "--", "ansible-operator", "runs")
    assert f"{namespace}/memcached-sample" in runs
    cluster.kubectl("delete", resource, *within)


def _sample(directory: Path) -> dict[str, Any]:
    """The one custom resource of a project."""
    (file,) = (found for found in directory.glob("*.yaml") if found.name != "kustomization.yaml")
    body: dict[str, Any] = yaml.safe_load(file.read_text())
    return body
