"""Images of other projects, built by their own Dockerfiles on the base image that `make test-node` has built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from runner.errors import DevError
from tests.fixtures.containers import OUT
from tests.fixtures.manifests import kubectl
from tests.node import packages
from tests.node.cluster import Cluster
from tests.node.operators import BUILDERS, ROOT

# Without a container engine beneath it, as tools/build_image.sh does it.
BUILDAH = f"buildah --root {OUT}/storage --runroot {OUT}/storage-run --storage-driver vfs"
BUILDER = f"""#!/bin/sh
# Takes `build ...` as docker does.
shift
exec {BUILDAH} bud --isolation chroot --pull-never --volume {OUT}/collections:/collections:ro "$@"
"""


class Builder:
    """Builds in copies of projects, with `tool` in place of docker."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.tool = directory / "builder"
        self.tool.write_text(BUILDER)
        self.tool.chmod(0o755)

    def build(self, project: Path, command: Sequence[str | Path], image: str, cluster: Cluster) -> None:
        """Run `command` in the project, which builds `image`, and give that to the node. Raises DevError.

        Ansible Galaxy is not asked: the project's requirements name what this repository has installed.
        """
        _run([sys.executable, "tools/pack_collection.py", str(OUT / "collections"), str(project)], ROOT)
        _run(_with_buildah(command), project)
        archive = self._directory / "image.tar"
        _run(
            _with_buildah(["sh", "-c", f"{BUILDAH} push --quiet {image} docker-archive:{archive}:{image}"]),
            project,
        )
        cluster.load(archive)
        archive.unlink()


def make(cluster: Cluster, project: Path, *arguments: str) -> None:
    """`make` in a project, by an administrator of the cluster. Raises DevError."""
    path = os.pathsep.join([str(kubectl().parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"KUBECONFIG": str(cluster.kubeconfig), "PATH": path}
    _run(["make", *arguments], project, environment)


def _with_buildah(command: Sequence[str | Path]) -> list[str]:
    words = [str(word) for word in command]
    if all(map(shutil.which, BUILDERS)):
        return words
    return packages.command_with(packages.tree(BUILDERS), words)


def _run(command: Sequence[str], where: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"`{' '.join(command)}`: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
