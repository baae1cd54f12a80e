"""A small blocking client of a control plane: its first objects, and when it is ready."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

from runner.dev import processes
from runner.dev.components import SIMULATED
from runner.dev.layout import NODE, Layout, Ports
from runner.dev.processes import Process, tail
from runner.errors import ComponentError, DevError

TIMEOUT = 5


NODE_PATH = f"/api/v1/nodes/{NODE}"
_ADMISSION = "admissionregistration.k8s.io"
_SIMULATED_PODS = "simulated-pods"
_RBAC = "rbac.authorization.k8s.io"
_ALL_BUT_CREATE = ["get", "list", "watch", "patch", "update", "delete"]
READY_WITHIN = 120.0
INTERVAL = 0.05
# How etcd and the API server, both Go programs, say that somebody else was quicker.
_ERROR = re.compile(r'^[EF]\d{4} |^(Error|error|panic|fatal error):|"level":"(error|fatal|panic)"', re.IGNORECASE)
_LOGGED_BY = re.compile(r"^[EF]\d{4} [\d:.]+ +\d+ [^\]]+\] ")
"""As klog begins the lines of errors."""
PORT_TAKEN = "address already in use"


class Api:
    """A tiny blocking client of one API server."""

    def __init__(self, layout: Layout, ports: Ports) -> None:
        self._host, self._port = ports.host, ports.api
        self._context = ssl.create_default_context(cafile=layout.certificate("ca"))
        self._context.load_cert_chain(layout.certificate("admin"), layout.key("admin"))

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """One request: the status and the JSON object (or the text) of the answer.

        Raises OSError or HTTPException while nothing answers.
        """
        status, content = self.send(method, path, None if body is None else json.dumps(body))
        return status, _decoded(content)

    def send(self, method: str, path: str, payload: str | None = None) -> tuple[int, str]:
        """The same, of JSON as it is written."""
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT, context=self._context)
        try:
            connection.request(method, path, payload, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        finally:
            connection.close()


def _decoded(content: str) -> object:
    try:
        return cast("object", json.loads(content))
    except ValueError:
        return content


def first_objects() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Collection path and object of each, in the order in which they are created."""
    return (
        (f"/apis/{_RBAC}/v1/clusterroles", _role()),
        (f"/apis/{_RBAC}/v1/clusterrolebindings", _binding()),
        ("/api/v1/nodes", _node()),
        (f"/apis/{_ADMISSION}/v1/validatingadmissionpolicies", _no_streams()),
        (f"/apis/{_ADMISSION}/v1/validatingadmissionpolicybindings", _no_streams_anywhere()),
    )


def _no_streams() -> dict[str, Any]:
    """Says to whoever wants into a pod why that cannot be; kwok would say that it has found no command to run."""
    streams = ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy"]
    connecting = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": streams}
    return {
        "apiVersion": f"{_ADMISSION}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": _SIMULATED_PODS},
        "spec": {
            "matchConstraints": {"resourceRules": [connecting]},
            "validations": [{"expression": "false", "message": SIMULATED}],
        },
    }


def _no_streams_anywhere() -> dict[str, Any]:
    return {
        "apiVersion": f"{_ADMISSION}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": _SIMULATED_PODS},
        "spec": {"policyName": _SIMULATED_PODS, "validationActions": ["Deny"]},
    }


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


def with_kubelet(node: Mapping[str, Any], port: int) -> dict[str, Any]:
    """The node with the port at which logs of its pods are asked for."""
    return {**node, "status": {**node.get("status", {}), "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}}


def wait_until(what: str, met: Callable[[], bool], layout: Layout, started: Mapping[str, Process]) -> None:
    """Return once `met`.

    Raises ComponentError when one of the processes `started` has ended, DevError after two minutes.
    """
    deadline = time.monotonic() + READY_WITHIN
    while not _answered(met):
        check(layout, started)
        if time.monotonic() > deadline:
            said = "".join(f"\n  {name}: {cause(tail(layout.log(name)))}" for name in started)
            raise DevError(
                f"{what}: not so within {READY_WITHIN:.0f} s. A slow or busy machine? Start it again. "
                f"The components said last:{said}"
            )
        time.sleep(INTERVAL)


def _answered(met: Callable[[], bool]) -> bool:
    try:
        return met()
    except (OSError, http.client.HTTPException):
        # Not listening yet.
        return False


def check(layout: Layout, started: Mapping[str, Process]) -> None:
    """Raise ComponentError when one of the processes `started` has ended."""
    for name, process in started.items():
        if not processes.alive(process):
            end = tail(layout.log(name))
            raise ComponentError(name, cause(end), end)


def cause(log_tail: str) -> str:
    """The last line that tells of an error, without what a logger puts before it; else the last line."""
    lines = [line for line in log_tail.splitlines() if line.strip()] or ["its log is empty"]
    errors = [line for line in lines if _ERROR.search(line)]
    return _LOGGED_BY.sub("", (errors or lines)[-1]).strip()


def port_taken(error: ComponentError) -> bool:
    """Whether the component ended because somebody else has its port."""
    return PORT_TAKEN in error.log_tail


def api_ready(api: Api) -> bool:
    """Whether the API server answers and has set up its own rights."""
    return api.call("GET", "/readyz")[0] == 200


def pods_admitted(api: Api) -> bool:
    """Whether a pod created now is admitted: its service account is there."""
    return api.call("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200


def pods_possible(api: Api) -> bool:
    """Whether a pod created now is admitted and finds a node."""
    if not pods_admitted(api):
        return False
    status, node = api.call("GET", NODE_PATH)
    return status == 200 and node_ready(node)


def node_ready(node: Mapping[str, object]) -> bool:
    """Whether the node is Ready and takes pods: its not-ready taint is gone."""
    spec, status = node.get("spec"), node.get("status")
    if not isinstance(spec, dict) or not isinstance(status, dict) or spec.get("taints"):
        return False
    conditions = {condition["type"]: condition["status"] for condition in status.get("conditions", ())}
    return conditions.get("Ready") == "True"
