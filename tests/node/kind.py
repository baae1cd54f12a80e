"""A cluster that kind makes with Docker: a control plane, and one node for the pods, which can die alone.

The cluster is called NAME. This machine gets routes to its pods and Services, which takes Linux and root.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from runner.dev.components import AuditLevel, audit_policy
from runner.errors import DevError
from tests.node.cluster import BUSYBOX, Cluster

NAME = "ansible-operator-tests"
POD_NETWORK = "10.244.0.0/16"
SERVICE_NETWORK = "10.96.0.0/16"
NETWORKS = (POD_NETWORK, SERVICE_NETWORK)
POLICIES = "/etc/kubernetes/policies"
LOGS = "/var/log/kubernetes"


def configuration(directory: Path, kubelet: Mapping[str, Any]) -> dict[str, Any]:
    """What kind is told: the audit policy and the log in `directory` are those of its API server.

    `kubelet` is what the nodes' KubeletConfiguration is to have besides.
    """
    mounts = [
        {"hostPath": str(directory / "policies"), "containerPath": POLICIES, "readOnly": True},
        {"hostPath": str(directory / "logs"), "containerPath": LOGS},
    ]
    patches = [_api_server(), {"kind": "KubeletConfiguration", **kubelet}]
    return {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "name": NAME,
        "networking": {"podSubnet": POD_NETWORK, "serviceSubnet": SERVICE_NETWORK},
        "nodes": [{"role": "control-plane", "extraMounts": mounts}, {"role": "worker"}],
        "kubeadmConfigPatches": [yaml.safe_dump(patch) for patch in patches],
    }


def _api_server() -> dict[str, Any]:
    volumes = [
        {"name": name, "hostPath": path, "mountPath": path, "readOnly": read_only, "pathType": "Directory"}
        for name, path, read_only in (("audit-policies", POLICIES, True), ("audit-logs", LOGS, False))
    ]
    arguments = {
        "audit-policy-file": f"{POLICIES}/audit.yaml",
        "audit-log-path": f"{LOGS}/audit.log",
        "audit-log-maxsize": "1000000",  # megabytes: nothing is rotated away from whoever counts
    }
    return {
        "kind": "ClusterConfiguration",
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "apiServer": {
            "extraArgs": [{"name": name, "value": value} for name, value in arguments.items()],
            "extraVolumes": volumes,
        },
    }


class KindCluster(Cluster):
    """kind and docker are those on PATH."""

    node = f"{NAME}-worker"

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def audit_log(self) -> Path:
        return self.directory / "logs" / "audit.log"

    def check(self) -> None:
        missing = [name for name in ("kind", "docker", "ip") if shutil.which(name) is None]
        if missing:
            raise DevError(f"a cluster of kind needs what is not on PATH: {', '.join(missing)}")
        if NAME in _run("kind", "get", "clusters").split():
            raise DevError(f"there is a cluster {NAME}; end it with `kind delete cluster --name {NAME}`")
        if _routes():
            raise DevError(f"this machine has a route to {_routes()[0]} already, which the cluster's pods need")

    def make(self) -> None:
        for name in ("policies", "logs"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        (self.directory / "policies" / "audit.yaml").write_text(yaml.safe_dump(audit_policy(AuditLevel.METADATA)))
        told = self.directory / "kind.yaml"
        told.write_text(yaml.safe_dump(configuration(self.directory, self._kubelet())))
        with self.timed("kind"):
            _run("kind", "create", "cluster", f"--config={told}", f"--kubeconfig={self.kubeconfig}", "--wait=180s")
        with self.timed("routes"):
            self._connect()
        with self.timed("images"):
            self.load_stand_in(BUSYBOX, self.directory / "image.tar")

    def stop(self) -> None:
        for route in _routes():
            _run("ip", "route", "del", route)
        _run("kind", "delete", "cluster", f"--name={NAME}", f"--kubeconfig={self.kubeconfig}")

    def crash(self) -> None:
        _run("docker", "kill", self.node)

    def boot(self) -> None:
        _run("docker", "start", self.node)

    def load(self, archive: Path) -> None:
        _run("kind", "load", "image-archive", str(archive), f"--name={NAME}", f"--nodes={self.node}")

    def traces(self) -> Mapping[str, Sequence[str]]:
        return {"clusters": _run("kind", "get", "clusters").splitlines(), "routes": _routes()}

    def _kubelet(self) -> Mapping[str, bool]:
        if self.unified:
            return {"singleProcessOOMKill": self.kills_one_process}
        return {"failCgroupV1": False}

    def _connect(self) -> None:
        # By way of the control plane, whose address stays when the node dies; kube-proxy is on both.
        (found,) = json.loads(_run("docker", "inspect", f"{NAME}-control-plane"))
        address = found["NetworkSettings"]["Networks"]["kind"]["IPAddress"]
        for network in NETWORKS:
            _run("ip", "route", "add", network, "via", address)


def _routes() -> list[str]:
    found = json.loads(_run("ip", "-json", "route", "show"))
    return [route["dst"] for route in found if route["dst"] in NETWORKS]


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"`{' '.join(command)}`: {done.stderr.strip()[-2000:]}")
    return done.stdout
