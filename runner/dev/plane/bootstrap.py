"""Objects that a fresh control plane needs before pods can run: the fake node and kwok's rights."""

from __future__ import annotations

from typing import Any

NODE = "node-1"
_RBAC = "rbac.authorization.k8s.io"
_ALL_BUT_CREATE = ["get", "list", "watch", "patch", "update", "delete"]


def objects() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Collection path and object of each, in the order in which they are created."""
    return (
        (f"/apis/{_RBAC}/v1/clusterroles", _role()),
        (f"/apis/{_RBAC}/v1/clusterrolebindings", _binding()),
        ("/api/v1/nodes", _node()),
    )


def _role() -> dict[str, Any]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "kwok"},
        "rules": [
            _rule("", ["nodes"], ["get", "list", "watch"]),
            _rule("", ["nodes/status", "pods/status"], ["patch", "update"]),
            _rule("", ["pods"], _ALL_BUT_CREATE),
            _rule("", ["events"], ["create", "patch", "update"]),
            _rule("coordination.k8s.io", ["leases"], ["create", *_ALL_BUT_CREATE]),
        ],
    }


def _rule(group: str, resources: list[str], verbs: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _binding() -> dict[str, Any]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kwok"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "kwok"},
        # The user is the common name of kwok's client certificate.
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": "kwok"}],
    }


def _node() -> dict[str, Any]:
    labels = {
        "kubernetes.io/hostname": NODE,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "type": "kwok",
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": labels}}
