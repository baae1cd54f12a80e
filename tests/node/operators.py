"""The sample operator in a pod: its image, which `make test-node` builds, run by config/default."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from runner.errors import DevError
from tests.fixtures.containers import OUT
from tests.fixtures.manifests import NAMESPACE, built_with_own_certificate
from tests.node import images, packages
from tests.node.cluster import Cluster
from tests.node.waiting import wait_for

IMAGE = "localhost/sample-operator:test"
DEPLOYMENT = "deployment/sample-operator-controller-manager"
ROOT = Path(__file__).parents[2]
LEASE = "lease/sample-operator"
LABEL = "control-plane=controller-manager"
PROJECT = "project"
WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
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


def install(cluster: Cluster, project: Path | None = None) -> None:
    """Apply config/default with that image and a certificate of its own, and wait until the pod is ready.

    With `project`, the operator has that directory's watches.yaml and what else is in it, instead of the sample's.
    """
    objects = _objects()
    pod = next(item for item in objects if item["kind"] == "Deployment")["spec"]["template"]["spec"]
    (manager,) = pod["containers"]
    manager["image"] = IMAGE
    if project is not None:
        # The sample's: nobody would answer them.
        cluster.kubectl("delete", ",".join(WEBHOOKS), "--all")
        objects = [item for item in objects if item["kind"] not in WEBHOOKS]
        objects.append(_config_map(project))
        pod["volumes"].append({"name": PROJECT, "configMap": {"name": PROJECT}})
        manager["volumeMounts"].append({"name": PROJECT, "mountPath": f"/opt/ansible/{PROJECT}"})
        manager["args"].append(f"--watches-file=./{PROJECT}/watches.yaml")
    cluster.kubectl(
        "apply", "--server-side", "--force-conflicts", "--filename=-", given=yaml.safe_dump_all(objects)
    )
    rolled_out(cluster, reviews=project is None)


def uninstall(cluster: Cluster) -> None:
    """Remove what `install` has applied, custom resources included."""
    cluster.kubectl(
        "delete", "--ignore-not-found", "--filename=-", given=yaml.safe_dump_all(_objects()), seconds=120
    )


def _objects() -> list[dict[str, Any]]:
    """There is no cert-manager on this node."""
    with TemporaryDirectory() as directory:
        return built_with_own_certificate(Path(directory))


def admitted(cluster: Cluster, body: Mapping[str, Any], namespace: str = "default") -> None:
    """Wait until the API server reaches the webhooks: kube-proxy takes a moment to learn of a new pod."""

    def tried() -> bool:
        create = ("create", "--dry-run=server", "--filename=-", f"--namespace={namespace}")
        try:
            cluster.kubectl(*create, given=json.dumps(body))
        except DevError:
            return False
        return True

    wait_for("the webhooks", tried, seconds=30)


def rolled_out(cluster: Cluster, *, reviews: bool = True) -> None:
    """Wait until the Deployment's pods are the ones it wants, and ready; and the webhooks within reach."""
    with explained(cluster):
        cluster.kubectl("rollout", "status", DEPLOYMENT, f"--namespace={NAMESPACE}", "--timeout=60s", seconds=70)
        if reviews:
            admitted(cluster, yaml.safe_load((ROOT / "crds/samples/memcached.yaml").read_text()))


def scale(cluster: Cluster, replicas: int) -> None:
    """Have so many pods, and wait for them."""
    cluster.kubectl("scale", DEPLOYMENT, f"--namespace={NAMESPACE}", f"--replicas={replicas}")
    rolled_out(cluster)


def stop(cluster: Cluster) -> None:
    """Have no pod, and wait until there is none."""
    cluster.kubectl("scale", DEPLOYMENT, f"--namespace={NAMESPACE}", "--replicas=0")
    wait_for("no pod", lambda: not pods(cluster), seconds=60)


def pods(cluster: Cluster) -> list[dict[str, Any]]:
    """Those of the Deployment."""
    found = cluster.kubectl("get", "pods", f"--selector={LABEL}", f"--namespace={NAMESPACE}", "-o=json")
    return list(json.loads(found)["items"])


def leader(cluster: Cluster) -> str:
    """The pod that the Lease names; nothing while nobody leads."""
    holder = cluster.kubectl("get", LEASE, f"--namespace={NAMESPACE}", "-o=jsonpath={.spec.holderIdentity}")
    return holder.partition("_")[0]


def created_deployments(cluster: Cluster, namespace: str) -> list[str]:
    """The Deployments of the namespace as often as they were created, by the API server's own account."""
    events = map(json.loads, cluster.audit_log.read_text().splitlines())
    wanted = ("create", "deployments", namespace)
    return [
        event["objectRef"]["name"]
        for event in events
        if (event["verb"], *(event.get("objectRef", {}).get(key) for key in ("resource", "namespace"))) == wanted
    ]


@contextmanager
def explained(cluster: Cluster, namespace: str = NAMESPACE) -> Iterator[None]:
    """Add to an error what is known of the operator's pods, and what they logged last."""
    try:
        yield
    except DevError as error:
        for command in (("describe", "pods"), ("logs", f"--selector={LABEL}", "--prefix", "--tail=30")):
            error.add_note(cluster.kubectl(*command, f"--namespace={namespace}"))
        raise


def _config_map(project: Path) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": PROJECT, "namespace": NAMESPACE},
        "data": {path.name: path.read_text() for path in project.iterdir()},
    }
