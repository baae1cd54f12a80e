"""Wait until a starting control plane can be used, and notice at once when a part of it has ended."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Mapping

from runner.dev.plane import bootstrap, processes
from runner.dev.plane.api import Api
from runner.dev.plane.layout import Layout
from runner.dev.plane.processes import Process
from runner.dev.tail import tail
from runner.errors import ComponentError, DevError

TIMEOUT = 120.0
INTERVAL = 0.05
# How etcd and the API server, both Go programs, say that somebody else was quicker.
PORT_TAKEN = "address already in use"


def wait(what: str, met: Callable[[], bool], layout: Layout, started: Mapping[str, Process]) -> None:
    """Return once `met`.

    Raises ComponentError when one of the processes `started` has ended, DevError after two minutes.
    """
    deadline = time.monotonic() + TIMEOUT
    while not _answered(met):
        check(layout, started)
        if time.monotonic() > deadline:
            raise DevError(
                f"{what}: not so within {TIMEOUT:.0f} s; the components' logs are in {layout.logs}. "
                "A slow or busy machine? Start it again."
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
            log = layout.log(name)
            raise ComponentError(name, str(log), tail(log))


def port_taken(error: ComponentError) -> bool:
    """Whether the component ended because somebody else has its port."""
    return PORT_TAKEN in error.log_tail


def api_ready(api: Api) -> bool:
    """Whether the API server answers and has set up its own rights."""
    return api.call("GET", "/readyz")[0] == 200


def pods_possible(api: Api) -> bool:
    """Whether a pod created now is admitted (its service account is there) and finds a node."""
    status, _ = api.call("GET", "/api/v1/namespaces/default/serviceaccounts/default")
    if status != 200:
        return False
    status, node = api.call("GET", f"/api/v1/nodes/{bootstrap.NODE}")
    return status == 200 and node_ready(node)


def node_ready(node: Mapping[str, object]) -> bool:
    """Whether the node is Ready and takes pods: its not-ready taint is gone."""
    spec, status = node.get("spec"), node.get("status")
    if not isinstance(spec, dict) or not isinstance(status, dict) or spec.get("taints"):
        return False
    conditions = {condition["type"]: condition["status"] for condition in status.get("conditions", ())}
    return conditions.get("Ready") == "True"
