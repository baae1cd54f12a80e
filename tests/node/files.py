"""What the programs of a node are told: pure data. Inside the node, its directory is /mnt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from runner.dev.layout import NODE
from tests.node.network import NODE_ADDRESS, POD_NETWORK

INSIDE = "/mnt"
SOCKET = "/run/containerd/containerd.sock"
PAUSE_IMAGE = "localhost/pause:1"

COMMANDS: dict[str, tuple[str, ...]] = {
    "containerd": ("/usr/bin/containerd", f"--config={INSIDE}/containerd.toml"),
    "kubelet": (
        f"{INSIDE}/programs/kubelet",
        f"--config={INSIDE}/kubelet.yaml",
        f"--kubeconfig={INSIDE}/kubelet.kubeconfig",
        f"--hostname-override={NODE}",
        f"--node-ip={NODE_ADDRESS}",
    ),
    "kube-proxy": (f"{INSIDE}/programs/kube-proxy", f"--config={INSIDE}/kube-proxy.yaml"),
    "services": (sys.executable, str(Path(__file__).with_name("services.py")), f"{INSIDE}/kube-proxy.kubeconfig"),
}
"""Each daemon of the node; `services` in place of kube-proxy where the kernel has no NAT."""

# What the kubelet would set for the whole machine: inside the node, files with these values lie over the kernel's.
SYSCTLS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}

# No AppArmor here, and whoever runs tests may not be allowed to lower what the OOM killer thinks of a process.
CONTAINERD = f"""version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{INSIDE}/cni"
"""


def kubelet(single_process_oom_kill: bool) -> dict[str, Any]:
    """KubeletConfiguration: cgroups of both versions without systemd, nothing pulled, nothing reserved.

    `single_process_oom_kill`: whether the kernel ends one process of a container that is beyond its memory, or
    all. The kubelet's own default is one with version 1, where it takes nothing else, and all with version 2.
    """
    return {
        "singleProcessOOMKill": single_process_oom_kill,
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{INSIDE}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "makeIPTablesUtilChains": False,
        # The machine's disk is not the node's; how full it is must not evict what tests run.
        "evictionHard": {"memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
        "localStorageCapacityIsolation": False,
    }


def kube_proxy() -> dict[str, Any]:
    """KubeProxyConfiguration; the maxima of connections are the machine's, and stay."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clientConnection": {"kubeconfig": f"{INSIDE}/kube-proxy.kubeconfig"},
        "clusterCIDR": POD_NETWORK,
        "hostnameOverride": NODE,
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }


def cni() -> dict[str, Any]:
    """Pods on a bridge, with addresses that host-local gives out."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": POD_NETWORK}]], "routes": [{"dst": "0.0.0.0/0"}]},
    }
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [bridge, {"type": "portmap", "capabilities": {"portMappings": True}}],
    }
