"""Molecule's scenario `cluster`, for what it was made: the cluster of KUBECONFIG, where pods run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.node import operators
from tests.node.cluster import Cluster
from tests.node.images import StandIn

pytestmark = pytest.mark.cluster
# For what the samples run: a shell that listens, ends well, or waits, as the real ones do. No registry is asked.
LISTENS = ("sh", "-c", "exec httpd -f -p 11211")
SERVES = ("sh", "-c", "exec httpd -f -p 8080 -h /www")
IMAGES = (
    StandIn("docker.io/library/memcached:1.6-alpine", LISTENS),
    StandIn("docker.io/nginxinc/nginx-unprivileged:1.29-alpine", SERVES, "101", {"www/index.html": "hello"}),
    StandIn("docker.io/library/busybox:1.37"),
    StandIn("docker.io/moby/buildkit:rootless", files={"bin/buildctl-daemonless.sh": "#!/bin/sh\nexit 0\n"}),
    StandIn("registry.example.com/hello:main", ("sleep", "100000")),
)


@pytest.fixture
def images(cluster: Cluster, tmp_path: Path) -> None:
    """The node has them; and no pod of the operator competes with the scenario's own."""
    for image in IMAGES:
        cluster.load_stand_in(image, tmp_path / "image.tar")
    operators.uninstall(cluster)


@pytest.mark.timeout(400)
def test_the_scenario_cluster_passes(cluster: Cluster, images: None, tmp_path: Path) -> None:
    tools = Path(sys.executable).parent
    environment = os.environ | {
        "KUBECONFIG": str(cluster.kubeconfig),
        "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path / "molecule"),
        "PATH": os.pathsep.join([str(tools), os.environ["PATH"]]),
    }
    command = [str(tools / "molecule"), "test", "--scenario-name", "cluster"]
    ended = subprocess.run(
        command, cwd=operators.ROOT, env=environment, check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-3000:]
