"""A person's view of a cluster, for the demo, the benchmark and the tests: apply, look, change, wait.

It uses the official client and nothing of the operator, so that what it sees is independent of what it checks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from kubernetes import config
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import NotFoundError, ResourceNotFoundError

from runner.errors import DevError

Object = dict[str, Any]
Answer = TypeVar("Answer")
_MERGE = "application/merge-patch+json"


class Observer:
    """Objects by apiVersion, kind and name; `namespace` is where namespaced ones are looked for by default."""

    def __init__(self, kubeconfig: Path, namespace: str = "default") -> None:
        self.namespace = namespace
        cache = kubeconfig.parent / "discovery-cache.json"
        self._client = DynamicClient(config.new_client_from_config(str(kubeconfig)), cache_file=str(cache))

    def close(self) -> None:
        self._client.client.close()

    def apply(self, source: Path | Mapping[str, Any], *, namespace: str = "") -> None:
        """Server-side apply of one object, or of every document in a file or directory."""
        for body in [dict(source)] if isinstance(source, Mapping) else _documents(source):
            name = body["metadata"]["name"]
            self._resource(body).server_side_apply(
                body=body,
                name=name,
                namespace=namespace or self.namespace,
                field_manager="observer",
                force_conflicts=True,
            )

    def create(self, body: Mapping[str, Any], *, namespace: str = "") -> Object:
        return _plain(self._resource(body).create(body=dict(body), namespace=namespace or self.namespace))

    def get(self, api_version: str, kind: str, name: str, *, namespace: str = "") -> Object | None:
        try:
            found = self._kind(api_version, kind).get(name=name, namespace=namespace or self.namespace)
        except NotFoundError:
            return None
        return _plain(found)

    def list(self, api_version: str, kind: str, *, namespace: str = "", label_selector: str = "") -> list[Object]:
        found = self._kind(api_version, kind).get(
            namespace=namespace or self.namespace, label_selector=label_selector or None
        )
        return list(_plain(found)["items"])

    def patch(
        self, api_version: str, kind: str, name: str, change: Mapping[str, Any], *, namespace: str = ""
    ) -> Object:
        """A merge patch."""
        body = {"apiVersion": api_version, "kind": kind, **change}
        resource = self._kind(api_version, kind)
        return _plain(
            resource.patch(name=name, body=body, namespace=namespace or self.namespace, content_type=_MERGE)
        )

    def patch_status(self, api_version: str, kind: str, name: str, status: Mapping[str, Any]) -> None:
        """A merge patch of the status, as a kind's own controller makes it."""
        resource = self._kind(api_version, kind).subresources["status"]
        body = {"apiVersion": api_version, "kind": kind, "status": dict(status)}
        resource.patch(name=name, body=body, namespace=self.namespace, content_type=_MERGE)

    def scale(self, api_version: str, kind: str, name: str, replicas: int, *, namespace: str = "") -> None:
        """Set the number of replicas through the scale subresource, as `kubectl scale` does."""
        scale = self._kind(api_version, kind).subresources["scale"]
        body = {"spec": {"replicas": replicas}}
        scale.patch(name=name, body=body, namespace=namespace or self.namespace, content_type=_MERGE)

    def delete(self, api_version: str, kind: str, name: str, *, namespace: str = "") -> None:
        """Delete in the background; an object that is gone already is fine."""
        try:
            self._kind(api_version, kind).delete(name=name, namespace=namespace or self.namespace)
        except NotFoundError:
            return

    def token(self, account: str) -> str:
        """A fresh token of a service account."""
        tokens = self._kind("v1", "ServiceAccount").subresources["token"]
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        return str(_plain(tokens.create(name=account, body=request, namespace=self.namespace))["status"]["token"])

    def serves(self, api_version: str, kind: str) -> bool:
        """Whether the API server has that kind by now: asked anew, as the client remembers what is gone."""
        try:
            self._kind(api_version, kind).get(namespace=self.namespace, limit=1)
        except (ResourceNotFoundError, NotFoundError):
            return False
        return True

    def undefine(self, name: str) -> None:
        """Delete a CRD, and wait until it is gone: another of that name would go with it."""
        place = "apiextensions.k8s.io/v1", "CustomResourceDefinition", name
        self.delete(*place)
        wait_for(f"{name} to be gone", lambda: not self.get(*place), seconds=30)

    def _resource(self, body: Mapping[str, Any]) -> Any:  # noqa: ANN401  (the client is untyped)
        return self._kind(body["apiVersion"], body["kind"])

    def _kind(self, api_version: str, kind: str) -> Any:  # noqa: ANN401  (the client is untyped)
        return self._client.resources.get(api_version=api_version, kind=kind)


def wait_for(what: str, condition: Callable[[], Answer | None], *, seconds: float, every: float = 0.1) -> Answer:
    """The first true answer of `condition`, asked until `seconds` are over; raises DevError naming `what`."""
    end = time.monotonic() + seconds
    problem = ""
    while True:
        try:
            answer = condition()
            if answer:
                return answer
        except ApiException as error:
            problem = f" (last answer: {error.status} {error.reason})"
        if time.monotonic() > end:
            raise DevError(f"waited {seconds:.0f} s in vain: {what}{problem}")
        time.sleep(every)


def condition(body: Object | None, kind: str) -> Object:
    """The condition of that type in `status.conditions`, or an empty one."""
    listed: Iterable[Object] = ((body or {}).get("status") or {}).get("conditions") or ()
    return next((item for item in listed if item.get("type") == kind), {})


def any_spec(api_version: str, kind: str, scope: str = "Namespaced", *, status_subresource: bool = True) -> Object:
    """The CustomResourceDefinition of a kind that takes any spec and status."""
    group, _, version = api_version.partition("/")
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if status_subresource:
        served["subresources"] = {"status": {}}
    names = {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [served]},
    }


def _documents(source: Path) -> Iterable[Object]:
    for path in sorted(source.glob("*.y*ml")) if source.is_dir() else [source]:
        yield from filter(None, yaml.safe_load_all(path.read_text()))


def _plain(answer: Any) -> Object:  # noqa: ANN401  (the client is untyped)
    return dict(answer.to_dict())
