"""The control plane that readers of several pages have, one after the other: empty again for each of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

from kubernetes import config
from kubernetes.client.exceptions import ApiException

from bench.observer import wait_for
from runner.dev.controlplane import ControlPlane
from runner.dev.directory import AS

Object = dict[str, Any]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WEBHOOKS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
OF_THE_PLANE = frozenset(
    {
        "APIService",
        "CSINode",
        "FlowSchema",
        "IPAddress",
        "Lease",
        "Node",
        "PriorityLevelConfiguration",
        "ServiceCIDR",
    }
)
"""Kinds that components of the control plane write, also long after its start."""

CREATED_AGAIN = frozenset(
    {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"), ("Service", "kubernetes")}
)


class SharedPlane:
    """A running control plane that can be emptied of all that was not there at first."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._client = config.new_client_from_config(str(plane.kubeconfig))
        self._collections = tuple(self._builtin_collections())
        self._first = frozenset(_uid(item) for _, item in self._objects())

    def close(self) -> None:
        self._client.close()

    def lend(self, home: Path) -> None:
        """Have the reader with that home find it as the default one."""
        directory = home / ".local/state/ansible-operator-runner/dev"
        directory.mkdir(parents=True)
        (directory / "default").symlink_to(self._plane.layout.directory)

    def empty(self) -> None:
        """Delete what was created since it was started, and wait until that is gone. Raises DevError."""
        wait_for("the objects of the last page to be gone", self._deleted, seconds=60, every=0.2)
        for file in [*self._plane.layout.config.glob(f"{AS}*"), self._plane.layout.operator_log]:
            file.unlink(missing_ok=True)

    def _deleted(self) -> bool:
        """Delete what is there; whether nothing was."""
        added = [(path, item) for path, item in self._objects() if _uid(item) not in self._first]
        for path, item in added:
            if item["metadata"].get("finalizers"):
                self._call("PATCH", path, {"metadata": {"finalizers": None}})
            self._call("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
            if path.startswith("/api/v1/namespaces/") and item["kind"] == "Namespace":
                self._call("PUT", f"{path}/finalize", {**item, "spec": {"finalizers": []}})
        return not [item for _, item in added if item["kind"] != "Event"]

    def _objects(self) -> Iterator[tuple[str, Object]]:
        """The path of each object, and the object: first what could keep another one from being deleted."""
        definitions = (self._call("GET", CRDS) or {}).get("items", [])
        for collection, kind in (*self._collections, *map(_collection, definitions)):
            for item in (self._call("GET", collection) or {}).get("items", []):
                namespace = item["metadata"].get("namespace", "")
                if not namespace.startswith("kube-") and not _is_created_again(kind, item):
                    yield _path(collection, item), {"kind": kind, **item}

    def _builtin_collections(self) -> Iterator[tuple[str, str]]:
        groups = [group["preferredVersion"]["groupVersion"] for group in self._call("GET", "/apis")["groups"]]
        found = [
            each for path in ("/api/v1", *(f"/apis/{group}" for group in groups)) for each in self._served(path)
        ]
        return iter(sorted(found, key=lambda each: not each[0].endswith(WEBHOOKS)))

    def _served(self, path: str) -> Iterator[tuple[str, str]]:
        for resource in self._call("GET", path)["resources"]:
            if {"list", "delete"} <= set(resource["verbs"]) and resource["kind"] not in OF_THE_PLANE:
                yield f"{path}/{resource['name']}", resource["kind"]

    def _call(self, method: str, path: str, body: object = None) -> Any:
        """The answer; None where the object is gone, or was changed meanwhile."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Content-Type": kind, "Accept": "application/json"}
        url = f"{self._client.configuration.host}{path}"
        answer = self._client.call_api(method, url, headers, body)
        content = answer.read()
        if answer.status in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            return None
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ApiException(http_resp=answer)
        return json.loads(content)


def _collection(definition: Object) -> tuple[str, str]:
    spec = definition["spec"]
    version = next(version["name"] for version in spec["versions"] if version["storage"])
    return f"/apis/{spec['group']}/{version}/{spec['names']['plural']}", spec["names"]["kind"]


def _path(collection: str, item: Object) -> str:
    name, namespace = item["metadata"]["name"], item["metadata"].get("namespace")
    root, _, plural = collection.rpartition("/")
    return f"{root}/namespaces/{namespace}/{plural}/{name}" if namespace else f"{collection}/{name}"


def _uid(item: Object) -> str:
    return str(item["metadata"]["uid"])


def _is_created_again(kind: str, item: Object) -> bool:
    """Whether the control plane creates the object again when it is deleted."""
    return (kind, item["metadata"]["name"]) in CREATED_AGAIN
