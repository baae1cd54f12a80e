"""What a run left in its namespace, as plain data, without what the API server itself decides."""

from __future__ import annotations

import json
from typing import Any

from runner.dev.api import Api

_LISTS = (
    "/api/v1/namespaces/{}/configmaps",
    "/api/v1/namespaces/{}/secrets",
    "/api/v1/namespaces/{}/services",
    "/api/v1/namespaces/{}/serviceaccounts",
    "/apis/apps/v1/namespaces/{}/deployments",
    "/apis/batch/v1/namespaces/{}/jobs",
)
_OWN = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
_ASSIGNED = ("clusterIP", "clusterIPs")


def objects(api: Api, namespace: str) -> list[Any]:
    """The objects of a namespace: metadata and what they specify, and which clients wrote them, and how."""
    found: list[Any] = []
    for path in _LISTS:
        status, answer = api.call("GET", path.format(namespace))
        assert status == 200, answer
        found += [_described(answer["kind"], item) for item in answer["items"]]
    return found


def _described(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    metadata = item["metadata"]
    managers = sorted({(entry["manager"], entry["operation"]) for entry in metadata.get("managedFields", [])})
    kept = {name: value for name, value in metadata.items() if name not in _OWN}
    spec = item.get("spec")
    if isinstance(spec, dict):
        spec = {name: value for name, value in spec.items() if name not in _ASSIGNED}
    rest = {name: value for name, value in item.items() if name not in ("metadata", "spec", "status")}
    return {"kind": kind, "metadata": kept, "spec": spec, "managers": managers, **rest}


def without(namespace: str, found: list[Any]) -> list[Any]:
    """The same objects, wherever they name their namespace."""
    plain: list[Any] = json.loads(json.dumps(found).replace(namespace, "<namespace>"))
    return plain
