"""Tries a bundle on a control plane: applies what it holds, runs the operator, and looks at the examples."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from runner.dev import processes
from runner.dev.api import Api
from runner.dev.controlplane import ControlPlane
from runner.errors import DevError

Object = dict[str, Any]
_STRICT = "fieldValidation=Strict"
_ESTABLISHED = 30.0
"""Seconds until a CRD is served."""
_EVERY = 0.2
_GRACE = 10.0
"""Seconds that the operator has to end by itself."""
_INHERITED = ("PATH", "HOME", "LANG", "PYTHON", "VIRTUAL_ENV", "ANSIBLE_")
"""How variables begin that the operator inherits; they stand on a command line for a moment."""
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PATHS = {
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
}
"""Where objects of a bundle are created; other kinds this cluster does not have."""


class Trial:
    """What the API server and the operator say of a bundle. `refused` maps what it refuses to its words."""

    def __init__(self, plane: ControlPlane, log: Path) -> None:
        self.refused: dict[str, str] = {}
        self._plane = plane
        self._api: Api = plane.api()
        self._log = log
        self._namespace = ""

    @contextmanager
    def namespace(self) -> Iterator[None]:
        """A namespace of its own, as long as the context is open."""
        self._namespace = f"scorecard-{secrets.token_hex(3)}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}}
        self._api.call("POST", "/api/v1/namespaces", body)
        try:
            yield
        finally:
            self._api.call("DELETE", f"/api/v1/namespaces/{self._namespace}")

    def dry_run(self, objects: Sequence[Object]) -> None:
        """Ask whether these could be created, fields that there are not included."""
        for found in objects:
            if path := _PATHS.get(found["kind"], "").format(self._namespace):
                self._create(path, found, f"{found['kind']} {found['metadata']['name']}", "&dryRun=All")

    def define(self, crds: Sequence[Object]) -> None:
        """Create or replace these CRDs, and wait until they are served. Raises DevError."""
        for crd in crds:
            name = crd["metadata"]["name"]
            status, there = self._api.call("GET", f"{_DEFINITIONS}/{name}")
            if status == 200:
                metadata = {**crd["metadata"], "resourceVersion": there["metadata"]["resourceVersion"]}
                body, method, path = {**crd, "metadata": metadata}, "PUT", f"{_DEFINITIONS}/{name}"
            else:
                body, method, path = crd, "POST", _DEFINITIONS
            status, answer = self._api.call(method, f"{path}?{_STRICT}", body)
            if status >= 400:
                self.refused[f"CustomResourceDefinition {name}"] = _message(answer)
            else:
                self._wait(f"{name} to be served", partial(self._established, name))

    def _established(self, name: str) -> bool:
        found = self._api.call("GET", f"{_DEFINITIONS}/{name}")[1]
        return any((one["type"], one["status"]) == ("Established", "True") for one in _conditions(found))

    def _wait(self, what: str, met: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _ESTABLISHED
        while not met():
            if time.monotonic() > deadline:
                raise DevError(f"waited for {what} for {_ESTABLISHED:.0f} s")
            time.sleep(_EVERY)

    def create(self, examples: Sequence[Object], crds: Sequence[Object]) -> list[str]:
        """Create them; where each is."""
        found = []
        for example in examples:
            place = self._collection(example, crds)
            what = f"{example['kind']} {example['metadata']['name']}"
            if place and self._create(place, example, what):
                found.append(f"{place}/{example['metadata']['name']}")
        return found

    def _collection(self, example: Object, crds: Sequence[Object]) -> str:
        group, _, version = example["apiVersion"].rpartition("/")
        for crd in crds:
            if (crd["spec"]["group"], crd["spec"]["names"]["kind"]) == (group, example["kind"]):
                inside = f"namespaces/{self._namespace}/" if crd["spec"]["scope"] == "Namespaced" else ""
                return f"/apis/{group}/{version}/{inside}{crd['spec']['names']['plural']}"
        return ""

    def _create(self, path: str, found: Object, what: str, more: str = "") -> bool:
        metadata = {name: value for name, value in found["metadata"].items() if name != "namespace"}
        status, answer = self._api.call("POST", f"{path}?{_STRICT}{more}", {**found, "metadata": metadata})
        if status >= 400 and status != 409:  # there already: of a trial that was killed
            self.refused[what] = _message(answer)
        return status < 400 or status == 409

    @contextmanager
    def operator(self, project: Path, environment: Mapping[str, str]) -> Iterator[None]:
        """The project's operator, for this namespace, as long as the context is open."""
        work = self._log.parent
        inherited = {name: value for name, value in environment.items() if name.startswith(_INHERITED)}
        given = {**inherited, "KUBECONFIG": str(self._plane.kubeconfig), "WATCH_NAMESPACE": self._namespace}
        flags = [
            *("--proxy-port=0", "--metrics-bind-address=0", "--health-probe-bind-address=0"),
            *("--user-metrics-bind-address=0", f"--runner-dir={work / 'runner'}"),
        ]
        variables = [f"{name}={value}" for name, value in given.items()]
        command = ["env", "-C", str(project), *variables, sys.executable, "-m", "runner", "run", *flags]
        process = processes.spawn(command, work / "operator.record", self._log, work)
        try:
            yield
        finally:
            processes.end(process, _GRACE)

    def reconciled(self, places: Sequence[str], seconds: float) -> list[Object]:
        """Each example once its run is over, or as it is after so many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            found = [self._api.call("GET", place)[1] for place in places]
            if all(map(is_over, found)) or time.monotonic() > deadline:
                return found
            time.sleep(_EVERY)


def is_over(found: Object) -> bool:
    """Whether conditions of its generation say how a run ended."""
    generation = found.get("metadata", {}).get("generation")
    return any(
        one.get("type") in ("Successful", "Failure")
        and one.get("status") == "True"
        and one.get("observedGeneration") == generation
        for one in _conditions(found)
    )


def _conditions(found: Object) -> list[Object]:
    return (found.get("status") or {}).get("conditions") or []


def _message(answer: object) -> str:
    return str(answer.get("message", answer)) if isinstance(answer, dict) else str(answer)
