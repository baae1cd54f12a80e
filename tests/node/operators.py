"""The sample operator in a pod: its image, which `make test-node` builds, run by config/default."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from runner.errors import DevError
from tests.fixtures.containers import OUT
from tests.fixtures.manifests import NAMESPACE, built
from tests.node import images, packages
from tests.node.cluster import Cluster

IMAGE = "localhost/sample-operator:test"
DEPLOYMENT = "deployment/sample-operator-controller-manager"
ROOT = Path(__file__).parents[2]
BUILDERS = ("buildah", "debootstrap")


def build_image() -> None:
    """Build it by the project's own Dockerfile, of Debian's packages. Raises BinariesError or DevError."""
    command = ["tools/build_image.sh"]
    if not all(map(shutil.which, BUILDERS)):
        command = packages.command_with(packages.tree(BUILDERS), command)
    settings = {"BASE": "debootstrap", "EXPORT": "1"}
    if subprocess.run(command, cwd=ROOT, env=os.environ | settings, check=False).returncode != 0:
        raise DevError("tools/build_image.sh failed: its output is above")


def load_image(cluster: Cluster, directory: Path) -> None:
    """Give the node what `build_image` has built. Raises DevError where nothing was."""
    root = OUT / "sample-root"
    if not root.is_dir():
        raise DevError(f"there is no {root}: run `make test-node`, which builds it")
    archive = directory / "operator.tar"
    images.archive(root, json.loads(root.with_name(f"{root.name}.json").read_text()), IMAGE, archive)
    cluster.load(archive)
    archive.unlink()


def install(cluster: Cluster) -> None:
    """Apply config/default with that image, and wait until the pod is ready."""
    objects = built("default")
    _manager(objects)["image"] = IMAGE
    cluster.kubectl("apply", "--server-side", "--filename=-", given=yaml.safe_dump_all(objects))
    rolled_out(cluster)


def rolled_out(cluster: Cluster) -> None:
    """Wait until the Deployment's pods are the ones it wants, and ready."""
    cluster.kubectl("rollout", "status", DEPLOYMENT, f"--namespace={NAMESPACE}", "--timeout=90s", seconds=100)


def log(cluster: Cluster) -> str:
    """What the operator has logged."""
    return cluster.kubectl("logs", DEPLOYMENT, f"--namespace={NAMESPACE}")


def _manager(objects: list[dict[str, Any]]) -> dict[str, Any]:
    (deployment,) = (item for item in objects if item["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = container
    return found
