"""The command line of each component: pure, from a Layout and Ports.

The rule for a flag here: needed to be correct, to be safe, or to start fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from runner.dev.certificates import SERVICE_ACCOUNT, SERVICE_NETWORK
from runner.dev.layout import HOST, Layout, Ports

STAGES = Path(__file__).with_name("stages.yaml")
NODE_LEASE_SECONDS = 40
SIMULATED = "pods of the local control plane are simulated: nothing runs in them"


NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
SIMULATOR = "kwok"


class AuditLevel(StrEnum):
    """How much of each request the audit log holds."""

    METADATA = "Metadata"
    REQUEST = "Request"
    REQUEST_RESPONSE = "RequestResponse"


@dataclass(frozen=True)
class Options:
    """What a person can choose. Data is thrown away on stop unless `keep`; no audit log unless `audit`.

    With `address`, the API server is there, for a real node to reach it, and no node is simulated.
    """

    keep: bool = False
    audit: AuditLevel | None = None
    address: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the components, in the order in which they are started."""
        return tuple(name for name in NAMES if name != SIMULATOR or self.address is None)


@dataclass(frozen=True)
class Component:
    """One process of the control plane: the name of its program and its arguments."""

    name: str
    arguments: tuple[str, ...]


def all_components(layout: Layout, ports: Ports, options: Options) -> tuple[Component, ...]:
    """Every component, in the order in which they are started."""
    found = (
        Component("etcd", _etcd(layout, ports, options)),
        Component("kube-apiserver", _apiserver(layout, ports, options)),
        Component("kube-controller-manager", _controller_manager(layout)),
        Component("kube-scheduler", _scheduler(layout)),
        Component(SIMULATOR, _kwok(layout, ports)),
    )
    return tuple(component for component in found if component.name in options.names)


def _etcd(layout: Layout, ports: Ports, options: Options) -> tuple[str, ...]:
    client, peer = f"https://{HOST}:{ports.etcd}", f"https://{HOST}:{ports.etcd_peer}"
    flags = [
        "--name=dev",
        f"--data-dir={layout.data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=dev={peer}",
        "--log-level=warn",
    ]
    for prefix in ("", "peer-"):
        flags += [
            f"--{prefix}cert-file={layout.certificate('etcd')}",
            f"--{prefix}key-file={layout.key('etcd')}",
            f"--{prefix}trusted-ca-file={layout.certificate('etcd-ca')}",
            f"--{prefix}client-cert-auth=true",
        ]
    if not options.keep:
        # Data that is thrown away anyway need not survive a power cut.
        flags.append("--unsafe-no-fsync=true")
    return tuple(flags)


def _apiserver(layout: Layout, ports: Ports, options: Options) -> tuple[str, ...]:
    return (
        f"--bind-address={ports.host}",
        # Not read from the routing table: a machine without a default route would have no address.
        f"--advertise-address={ports.host}",
        f"--secure-port={ports.api}",
        f"--etcd-servers=https://{HOST}:{ports.etcd}",
        f"--etcd-cafile={layout.certificate('etcd-ca')}",
        f"--etcd-certfile={layout.certificate('apiserver-etcd')}",
        f"--etcd-keyfile={layout.key('apiserver-etcd')}",
        f"--tls-cert-file={layout.certificate('apiserver')}",
        f"--tls-private-key-file={layout.key('apiserver')}",
        f"--client-ca-file={layout.certificate('ca')}",
        "--authorization-mode=Node,RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.certificates / f'{SERVICE_ACCOUNT}.pub'}",
        f"--service-account-signing-key-file={layout.key(SERVICE_ACCOUNT)}",
        f"--service-cluster-ip-range={SERVICE_NETWORK}",
        "--allow-privileged=true",
        "--profiling=false",
        *_nodes(layout, options),
        *_audit(layout, options),
    )


def _nodes(layout: Layout, options: Options) -> tuple[str, ...]:
    if options.address is None:
        # One API server, on the loopback, which an Endpoints object may not hold: nothing to reconcile.
        return ("--endpoint-reconciler-type=none",)
    return (
        # Logs and exec: the kubelet asks the API server who that is. Its own certificate is self-signed.
        f"--kubelet-client-certificate={layout.certificate('admin')}",
        f"--kubelet-client-key={layout.key('admin')}",
        "--kubelet-preferred-address-types=InternalIP",
        "--enable-admission-plugins=NodeRestriction",
    )


def _audit(layout: Layout, options: Options) -> tuple[str, ...]:
    if options.audit is None:
        return ()
    return (
        f"--audit-policy-file={layout.audit_policy}",
        f"--audit-log-path={layout.audit_log}",
        # Nothing is rotated away from whoever reads the log as evidence: megabytes, of which 0 would mean 100.
        "--audit-log-maxsize=1000000",
    )


def audit_policy(level: AuditLevel) -> dict[str, object]:
    """One event a request at `level`; health checks are left out."""
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": True,
        "rules": [
            {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*"]},
            {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets"]}]},
            {"level": level.value},
        ],
    }


def pod_logs(layout: Layout) -> dict[str, object]:
    """What kwok answers to whoever asks for a pod's log: the text of a file."""
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": "simulated"},
        "spec": {"logs": [{"logsFile": str(layout.pod_log)}]},
    }


# As a container runtime writes logs: kwok reads no other form.
POD_LOG = f"2026-01-01T00:00:00.000000000Z stdout F {SIMULATED}\n"


def _controller_manager(layout: Layout) -> tuple[str, ...]:
    return (
        f"--kubeconfig={layout.component_kubeconfig('kube-controller-manager')}",
        "--leader-elect=false",
        "--secure-port=0",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.key(SERVICE_ACCOUNT)}",
        f"--root-ca-file={layout.certificate('ca')}",
        f"--service-cluster-ip-range={SERVICE_NETWORK}",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--profiling=false",
    )


def _scheduler(layout: Layout) -> tuple[str, ...]:
    return (
        f"--kubeconfig={layout.component_kubeconfig('kube-scheduler')}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--profiling=false",
    )


def _kwok(layout: Layout, ports: Ports) -> tuple[str, ...]:
    return (
        f"--kubeconfig={layout.component_kubeconfig('kwok')}",
        f"--config={STAGES}",
        f"--config={layout.pod_logs}",
        "--manage-all-nodes=true",
        f"--node-lease-duration-seconds={NODE_LEASE_SECONDS}",
        # The address that hosts and their pods report; kwok answers there in place of a kubelet.
        f"--node-ip={HOST}",
        f"--server-address={HOST}:{ports.kubelet}",
        f"--tls-cert-file={layout.certificate('apiserver')}",
        f"--tls-private-key-file={layout.key('apiserver')}",
    )
