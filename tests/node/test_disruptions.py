"""What befalls pods and nodes: eviction, a drain, and a node that dies and comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml

from runner.errors import DevError
from tests.fixtures.manifests import CONFIG, NAMESPACE
from tests.node import operators
from tests.node.cluster import Cluster
from tests.node.waiting import wait_for

pytestmark = pytest.mark.cluster
MANY = 8
GONE = "deployment/memcached-sample-0"


@pytest.fixture(scope="module", autouse=True)
def operator(cluster: Cluster, operator_image: None) -> None:
    """Installed, and ready."""
    operators.install(cluster)


@pytest.fixture
def replicas(cluster: Cluster) -> Iterator[None]:
    """A standby beside the leader."""
    operators.scale(cluster, 2)
    yield
    operators.scale(cluster, 1)


def apply_many(cluster: Cluster, namespace: str, begin: int = 0) -> list[str]:
    names = [f"memcached-sample-{number}" for number in range(begin, begin + MANY)]
    body = yaml.safe_load((CONFIG.parent / "crds/samples/memcached.yaml").read_text())
    for name in names:
        body["metadata"]["name"] = name
        cluster.apply(body, namespace)
    return names


def reconciled(cluster: Cluster, namespace: str, names: list[str]) -> None:
    """All are Successful, and the Deployment of each was created once."""
    with operators.explained(cluster):
        successful = "--for=condition=Successful"
        cluster.kubectl("wait", successful, "memcached", "--all", "-n", namespace, "--timeout=90s", seconds=100)
    assert sorted(operators.created_deployments(cluster, namespace)) == sorted(names)


def test_an_evicted_leader_is_followed_by_the_standby_and_nothing_is_lost_or_done_twice(
    cluster: Cluster, namespace: str, replicas: None
) -> None:
    names = apply_many(cluster, namespace)
    evicted = operators.leader(cluster)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": evicted}}
    place = f"/api/v1/namespaces/{NAMESPACE}/pods/{evicted}/eviction"
    cluster.kubectl("create", f"--raw={place}", "--filename=-", given=json.dumps(eviction))

    wait_for("another leader", lambda: operators.leader(cluster) not in ("", evicted), seconds=40)
    reconciled(cluster, namespace, names)


def test_what_happens_while_the_node_is_drained_is_made_up_for(cluster: Cluster, namespace: str) -> None:
    names = apply_many(cluster, namespace)
    reconciled(cluster, namespace, names)
    cluster.kubectl(
        "drain", cluster.node, f"--pod-selector={operators.LABEL}", "--delete-emptydir-data", seconds=90
    )
    try:
        assert _ready_pods(cluster) == []
        cluster.kubectl("delete", GONE, "-n", namespace)
        with pytest.raises(DevError, match=r"failed calling webhook"):
            apply_many(cluster, namespace, MANY)
    finally:
        cluster.kubectl("uncordon", cluster.node)
    operators.rolled_out(cluster)

    wait_for("the Deployment", lambda: _exists(cluster, namespace, GONE), seconds=60)


def test_a_node_that_dies_amid_runs_and_comes_back_converges(cluster: Cluster, namespace: str) -> None:
    names = apply_many(cluster, namespace)
    wait_for("runs", lambda: operators.created_deployments(cluster, namespace), seconds=40)
    before = _containers(cluster)
    cluster.crash()
    cluster.boot()

    wait_for("another container", lambda: _ready_containers(cluster) - before, seconds=120)
    operators.rolled_out(cluster)
    reconciled(cluster, namespace, names)


def _ready_pods(cluster: Cluster) -> list[str]:
    ready = {"type": "Ready", "status": "True"}.items()
    return [
        pod["metadata"]["name"]
        for pod in operators.pods(cluster)
        if any(ready <= condition.items() for condition in pod["status"].get("conditions", ()))
    ]


def _containers(cluster: Cluster) -> set[str]:
    return {each["containerID"] for pod in operators.pods(cluster) for each in pod["status"]["containerStatuses"]}


def _ready_containers(cluster: Cluster) -> set[str]:
    statuses = [each for pod in operators.pods(cluster) for each in pod["status"].get("containerStatuses", ())]
    return {each["containerID"] for each in statuses if each["ready"]}


def _exists(cluster: Cluster, namespace: str, what: str) -> bool:
    return bool(cluster.kubectl("get", what, "-n", namespace, "--ignore-not-found", "-o=name"))
