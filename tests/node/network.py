"""The node's network: a veth pair to this machine, on which the API server listens; pods behind a bridge.

No route leads beyond this machine: neither for the node nor for its pods.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

from runner.dev.certificates import SERVICE_NETWORK
from runner.errors import DevError

INTERFACE = "ansible-op-node"
"""This machine's end of the pair; at most fifteen characters. There is one, so there is one node at a time."""
INTERFACES = Path("/sys/class/net")
HOST_ADDRESS = "172.31.97.1"
NODE_ADDRESS = "172.31.97.2"
POD_NETWORK = "172.31.98.0/24"
PREFIX = 30


def running() -> Path | None:
    """The directory of the node that runs on this machine."""
    with suppress(FileNotFoundError):
        return Path((INTERFACES / INTERFACE / "ifalias").read_text().strip())
    return None


def connect(pid: int, directory: Path) -> None:
    """Make the pair to the network namespace of the process `pid`; it tells that the node is in `directory`.

    Services and pods are within reach of this machine, so that the API server can call webhooks.
    """
    _ip("link", "add", INTERFACE, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
    _ip("link", "set", INTERFACE, "alias", str(directory))
    _ip("address", "add", f"{HOST_ADDRESS}/{PREFIX}", "dev", INTERFACE)
    _ip("link", "set", INTERFACE, "up")
    inside = ("nsenter", "--target", str(pid), "--net", "--")
    _ip("address", "add", f"{NODE_ADDRESS}/{PREFIX}", "dev", "eth0", enter=inside)
    for interface in ("lo", "eth0"):
        _ip("link", "set", interface, "up", enter=inside)
    # What the node itself sends to a service needs some route before kube-proxy's rules change its address.
    _ip("route", "add", SERVICE_NETWORK, "via", HOST_ADDRESS, enter=inside)
    for network in (SERVICE_NETWORK, POD_NETWORK):
        _ip("route", "add", network, "via", NODE_ADDRESS)


def disconnect() -> None:
    """Remove the pair, and with it this machine's routes."""
    # It may just go by itself, with the node's end of it.
    with suppress(DevError):
        _ip("link", "del", INTERFACE)
    if running() is not None:
        raise DevError(f"{INTERFACE} is still there; remove it with `ip link del {INTERFACE}`")


def _ip(*arguments: str, enter: tuple[str, ...] = ()) -> None:
    done = subprocess.run([*enter, "ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"`ip {' '.join(arguments)}`: {done.stderr.strip()}")
