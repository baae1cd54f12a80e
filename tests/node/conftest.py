"""One cluster with a real node for the whole session, and a namespace a test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node import network, operators
from tests.node.cluster import Cluster
from tests.node.sandbox import NAME


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--single-process-oom-kill",
        action="store_true",
        help="with cgroups of version 2, have the kernel end one process of a container, not all",
    )


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Up for all tests of the session; that it goes down without a trace is checked at the end."""
    before = traces()
    single = request.config.getoption("--single-process-oom-kill")
    with Cluster(tmp_path_factory.mktemp("cluster"), single_process_oom_kill=single) as started:
        yield started
    assert traces() == before


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


def traces() -> dict[str, list[str]]:
    """What a node makes on a machine outside its own directory."""
    return {
        "mounts": Path("/proc/self/mounts").read_text().splitlines(),
        "interfaces": sorted(path.name for path in network.INTERFACES.iterdir()),
        "cgroups": sorted(map(str, Path("/sys/fs/cgroup").rglob(NAME))),
        "processes": sorted(_processes("kubelet", "kube-proxy", "containerd", "containerd-shim", "pause")),
    }


def _processes(*names: str) -> Iterator[str]:
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            name = comm.read_text().strip()
        except OSError:  # ended meanwhile
            continue
        if name in names:
            yield f"{comm.parent.name} {name}"
