"""What kind is told, and what a machine without it says; no engine is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.errors import DevError
from tests.node.kind import KindCluster, configuration


def patches(told: dict[str, Any]) -> dict[str, Any]:
    return {patch["kind"]: patch for patch in map(yaml.safe_load, told["kubeadmConfigPatches"])}


def on_this_machine(told: dict[str, Any], path: str) -> Path:
    """Where a file of the API server's pod is: by its volumes in the node, and by the node's mounts here."""
    server = patches(told)["ClusterConfiguration"]["apiServer"]
    volume = next(each for each in server["extraVolumes"] if path.startswith(each["mountPath"]))
    inside = path.replace(volume["mountPath"], volume["hostPath"])
    mount = next(each for each in told["nodes"][0]["extraMounts"] if inside.startswith(each["containerPath"]))
    return Path(inside.replace(mount["containerPath"], mount["hostPath"]))


def test_the_api_server_writes_its_audit_log_where_the_cluster_reads_it(tmp_path: Path) -> None:
    told = configuration(tmp_path, {})
    arguments = patches(told)["ClusterConfiguration"]["apiServer"]["extraArgs"]
    (log,) = (each["value"] for each in arguments if each["name"] == "audit-log-path")

    assert on_this_machine(told, log) == KindCluster(tmp_path).audit_log


def test_the_node_for_pods_is_not_the_one_with_the_control_plane(tmp_path: Path) -> None:
    assert [node["role"] for node in configuration(tmp_path, {})["nodes"]] == ["control-plane", "worker"]
    assert KindCluster(tmp_path).node.endswith("-worker")


def test_the_kubelet_is_told_what_the_machine_s_cgroups_need(tmp_path: Path) -> None:
    told = configuration(tmp_path, {"failCgroupV1": False})

    assert patches(told)["KubeletConfiguration"]["failCgroupV1"] is False


def test_without_kind_and_docker_the_error_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(DevError, match="not on PATH: kind, docker, ip"):
        KindCluster(tmp_path).start()
