"""What it costs that a status follows dependents, how soon it does, and how often it is written."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

from bench.audit import AuditLog
from bench.bench import KIND
from bench.observer import Observer, wait_for
from bench.stage import PATIENCE, Finding, Stage, below, counted, exactly, runs
from runner.dev.controlplane import ControlPlane

SOON = 1.0
APART = 1.0
"""Seconds."""
CPU = 20.0
"""Milliseconds."""
WRITES = 3
PODS = 3
"""Of each Deployment; they do not become ready at the same moment."""
_ROOM = 0.1
"""Seconds that the API server's times of two writes a second apart may be nearer than that."""
DEPLOYMENT = """
- name: Keep a Deployment
  kubernetes.core.k8s:
    definition:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}
      spec:
        replicas: "{{ text | int }}"
        selector: {matchLabels: {app: "{{ ansible_operator_meta.name }}"}}
        template:
          metadata: {labels: {app: "{{ ansible_operator_meta.name }}"}}
          spec: {containers: [{name: web, image: "web:1"}]}
"""
READY = "children[?kind=='Deployment'] | [0].status.readyReplicas || `0`"


def live_status(plane: ControlPlane, work: Path, *, rounds: int = 10) -> list[Finding]:
    """The three Pods of a Deployment become ready one after the other, again and again."""
    stage = Stage(plane, work, "live", DEPLOYMENT, status={"ready": READY})
    stage.create({"web": "3"})
    with stage, stage.operator("--executor=warm") as operator:
        _follow(stage, 3)
        before, cpu, seconds, changes = len(runs(operator)), operator.cpu_seconds(), [], 0
        pods = [body["metadata"]["name"] for body in stage.observer.list("v1", "Pod")]
        for _ in range(rounds):
            for number, ready in enumerate((False, False, False, True, True, True)):
                _rest(APART + _ROOM)  # at most one write a second
                _set_ready(stage.observer, pods[number % 3], ready=ready)
                seconds.append(_follow(stage, number - 2 if ready else 2 - number))
                changes += 1
        used, more = operator.cpu_seconds() - cpu, len(runs(operator)) - before
    what = f"after which the status follows, of {changes} changes of readyReplicas 0→3→0"
    return [
        below(f"seconds {what}, median", SOON, statistics.median(seconds), "s"),
        below("the same, the longest", SOON, max(seconds), "s"),
        exactly("runs", 0, more),
        below("the operator's CPU for a change", CPU, used / changes * 1000, "ms"),
    ]


def _set_ready(observer: Observer, pod: str, *, ready: bool) -> None:
    found = observer.get("v1", "Pod", pod) or {}
    conditions = [
        {**item, "status": str(ready)} if item["type"] in ("Ready", "ContainersReady") else item
        for item in found["status"]["conditions"]
    ]
    observer.patch_status("v1", "Pod", pod, {"conditions": conditions})


def _follow(stage: Stage, ready: int) -> float:
    """Wait until the status says so; returns the seconds since the Deployment does."""
    deployed = 0.0

    def reached() -> bool:
        nonlocal deployed
        body = stage.observer.get("apps/v1", "Deployment", "web") or {}
        if not deployed and ((body.get("status") or {}).get("readyReplicas") or 0) == ready:
            deployed = time.monotonic()
        return bool(deployed) and ((stage.get("web").get("status") or {}).get("ready") or 0) == ready

    wait_for(f"the status to have {ready} ready", reached, seconds=PATIENCE, every=0.01)
    return time.monotonic() - deployed


def _rest(seconds: float) -> None:
    until = time.monotonic() + seconds
    wait_for("a while", lambda: time.monotonic() > until, seconds=2 * seconds, every=0.02)


def crowd(plane: ControlPlane, work: Path, *, resources: int = 500) -> list[Finding]:
    """The Deployments of many custom resources become ready at once: their Pods wait for a node, and get it."""
    stage = Stage(plane, work, "crowd", DEPLOYMENT, status={"ready": READY})
    names = [f"c{number}" for number in range(resources)]
    with stage, _cordoned(stage.observer) as uncordon, stage.operator("--executor=warm") as operator:
        stage.create(dict.fromkeys(names, str(PODS)))
        stage.successful(names)
        audit, before, cpu = AuditLog(plane.audit_log), len(runs(operator)), operator.cpu_seconds()
        uncordon()
        wait_for(
            "all to be ready",
            lambda: _ready(stage, "apps/v1", "Deployment", "readyReplicas") == resources,
            seconds=PATIENCE,
            every=0.5,
        )
        deployed = time.monotonic()
        wait_for("every status", lambda: _ready(stage, *KIND, "ready") == resources, seconds=PATIENCE, every=0.2)
        late = time.monotonic() - deployed
        _rest(3 * APART)
        right = _ready(stage, *KIND, "ready")
        writes = stage.status_writes(audit)
        used, more = operator.cpu_seconds() - cpu, len(runs(operator)) - before
    per_object = Counter(one.name for one in writes)
    times = {name: sorted(one.time for one in writes if one.name == name) for name in per_object}
    gaps = [(later - sooner).total_seconds() for each in times.values() for sooner, later in pairwise(each)]
    nearest = min(gaps, default=APART)
    return [
        exactly(f"right statuses, when {resources} Deployments become ready", resources, right),
        below("the last status, after the last Deployment", SOON, late, "s"),
        counted("least time between two writes of one", "1 s", f"{nearest:.2f} s", holds=nearest > APART - _ROOM),
        counted(
            "writes for each",
            f"< {WRITES}",
            f"{len(writes) / resources:.2f} (at most {max(per_object.values())})",
            holds=len(writes) < WRITES * resources,
        ),
        exactly("runs", 0, more),
        below("the operator's CPU for each", CPU, used / resources * 1000, "ms"),
    ]


@contextmanager
def _cordoned(observer: Observer) -> Iterator[Callable[[], None]]:
    """No Pod gets a node until what this gives is called, or at the end."""

    def cordon(*, wanted: bool) -> None:
        for node in observer.list("v1", "Node"):
            observer.patch("v1", "Node", node["metadata"]["name"], {"spec": {"unschedulable": wanted}})

    cordon(wanted=True)
    try:
        yield partial(cordon, wanted=False)
    finally:
        cordon(wanted=False)


def _ready(stage: Stage, api_version: str, kind: str, field: str) -> int:
    """How many have all that is to be ready."""
    return sum((body.get("status") or {}).get(field) == PODS for body in stage.observer.list(api_version, kind))
