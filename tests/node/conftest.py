"""One cluster with a real node for the whole session, and a namespace a test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.node import operators
from tests.node.cluster import Cluster
from tests.node.kind import KindCluster
from tests.node.local import LocalCluster

CLUSTERS = {"local": LocalCluster, "kind": KindCluster}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cluster", choices=CLUSTERS, default="local", help="whose pods: this machine's (local), or those of kind"
    )
    parser.addoption(
        "--single-process-oom-kill",
        action="store_true",
        help="with cgroups of version 2, have the kernel end one process of a container, not all",
    )


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Up for all tests of the session; that it goes down without a trace is checked at the end."""
    single = request.config.getoption("--single-process-oom-kill")
    kind = CLUSTERS[request.config.getoption("--cluster")]
    made = kind(tmp_path_factory.mktemp("cluster"), single_process_oom_kill=single)
    before = made.traces()
    with made:
        yield made
    assert made.traces() == before


@pytest.fixture(scope="session")
def operator_image(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The node has the sample operator's image."""
    operators.load_image(cluster, tmp_path_factory.mktemp("image"))


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh namespace that enforces the restricted Pod Security Standard; its deletion is not waited for."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")
