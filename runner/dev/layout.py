"""Where everything of one control plane is: its files under one directory, its ports on the loopback.

One frozen value is passed around instead of paths put together in many places.
"""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
NODE = "node-1"
"""The name of the node, fake or real."""
OPERATOR = "operator"
"""What has a log beside the components'."""


@dataclass(frozen=True)
class Ports:
    """The TCP ports of one control plane. `kubelet` is the fake node's; `host` is where the API server listens.

    All else is on the loopback. A port is 0 where the control plane was started by a version that did not have it.
    """

    api: int
    etcd: int
    etcd_peer: int
    kubelet: int = 0
    host: str = HOST

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return f"https://{self.host}:{self.api}"

    @property
    def numbers(self) -> tuple[int, ...]:
        """Every port."""
        return (self.api, self.etcd, self.etcd_peer, self.kubelet)


@dataclass(frozen=True)
class Layout:
    """Every path of the control plane that lives in `directory`."""

    directory: Path

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def audit_log(self) -> Path:
        """One JSON event a line; there only when the audit log is on."""
        return self.directory / "audit.log"

    @property
    def audit_policy(self) -> Path:
        """What the API server writes into the audit log."""
        return self.config / "audit-policy.yaml"

    @property
    def mark(self) -> Path:
        """Says that the directory is a control plane's: without it nothing here is touched."""
        return self.directory / ".ansible-operator-dev"

    @property
    def pod_logs(self) -> Path:
        """Tells kwok which file is the log of every pod."""
        return self.config / "pod-logs.yaml"

    @property
    def pod_log(self) -> Path:
        """The log of every pod."""
        return self.config / "pod.log"

    @property
    def state(self) -> Path:
        """What was started, and whether it became ready."""
        return self.directory / "controlplane.json"

    @property
    def certificates(self) -> Path:
        """Keys and certificates; complete whenever it exists."""
        return self.directory / "certificates"

    @property
    def config(self) -> Path:
        """The components' own kubeconfigs and the audit policy."""
        return self.directory / "config"

    @property
    def data(self) -> Path:
        """etcd's data."""
        return self.directory / "data"

    @property
    def logs(self) -> Path:
        """One log a component."""
        return self.directory / "logs"

    @property
    def run(self) -> Path:
        """One process record a component."""
        return self.directory / "run"

    def certificate(self, name: str) -> Path:
        """The certificate called `name`."""
        return self.certificates / f"{name}.crt"

    def key(self, name: str) -> Path:
        """The private key called `name`."""
        return self.certificates / f"{name}.key"

    def component_kubeconfig(self, name: str) -> Path:
        """The kubeconfig a component logs in with."""
        return self.config / f"{name}.kubeconfig"

    def log(self, component: str) -> Path:
        """The log of a component."""
        return self.logs / f"{component}.log"

    @property
    def operator_log(self) -> Path:
        """The log of an operator that `dev run` runs here."""
        return self.log(OPERATOR)

    def record(self, component: str) -> Path:
        """The process record of a component."""
        return self.run / f"{component}.stat"


def default_directory(name: str) -> Path:
    """Where the control plane called `name` lives when no directory is given."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "ansible-operator-runner" / "dev" / name


def choose_ports(previous: Ports | None = None, host: str = HOST) -> Ports:
    """The previous ports while they are free, so that a kept kubeconfig stays true; else any free ones.

    A port can be taken by somebody else before it is used; whoever starts the components tries again.
    """
    if previous is not None and previous.host == host and all(previous.numbers) and _all_free(previous):
        return previous
    with ExitStack() as open_sockets:
        # All are held until all are known: no port twice.
        api = _bind(0, open_sockets, host)
        etcd, peer, kubelet = (_bind(0, open_sockets) for _ in range(3))
        return Ports(api, etcd, peer, kubelet, host)


def _all_free(ports: Ports) -> bool:
    with ExitStack() as open_sockets:
        try:
            _bind(ports.api, open_sockets, ports.host)
            for port in ports.numbers[1:]:
                _bind(port, open_sockets)
        except OSError:
            return False
    return True


def _bind(port: int, open_sockets: ExitStack, host: str = HOST) -> int:
    sock = open_sockets.enter_context(socket.socket())
    # As the components do: connections that are still closing do not make a port taken.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, port))
    return int(sock.getsockname()[1])
