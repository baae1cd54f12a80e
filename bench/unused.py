"""What a project costs that uses none of the fields for reactions: requests, writes, memory, CPU."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from bench import accounting
from bench.audit import OPERATOR, AuditLog
from bench.bench import KIND
from bench.observer import wait_for
from bench.stage import PATIENCE, Finding, Stage, below, exactly, wait_for_runs
from runner.dev.controlplane import ControlPlane

RESOURCES = 40
FOREIGN = 2
"""Changes of dependents by others in the story: an Event tells of each."""
GOES = "u3"
"""The custom resource that is deleted."""
MORE = 3 * 2**20
"""Bytes that two measurements of one and the same operator may differ by."""
KEEP = """
- name: Keep a ConfigMap
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}
      data: {text: "{{ text }}"}
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one operator and one story: what it asked the API server for itself, and bytes.

    `looks` is how often it asks for the one that goes, which `reads` leaves out: once more if the garbage
    collector deletes its dependent before the story is over.
    """

    reads: Counter[str]
    looks: int
    writes: Counter[str]
    events: int
    memory: int


def story(plane: ControlPlane, work: Path, name: str, command: tuple[str, ...] = ()) -> Cost:
    """Custom resources are made, one is changed, one of the dependents is changed and one deleted; one goes."""
    stage = Stage(plane, work, name, KEEP)
    audit = AuditLog(plane.audit_log)
    names = [f"u{number}" for number in range(RESOURCES)]
    with stage, stage.operator("--executor=warm", command=command) as operator:
        stage.create(dict.fromkeys(names, "one"))
        wait_for_runs(operator, RESOURCES)
        wait_for(
            "dependents to be watched", lambda: len(list(operator.records("watching"))) == 2, seconds=PATIENCE
        )
        stage.observer.patch(*KIND, "u0", {"spec": {"text": "two"}})
        wait_for_runs(operator, RESOURCES + 1)
        stage.observer.patch("v1", "ConfigMap", "u1", {"data": {"text": "other"}})
        wait_for_runs(operator, RESOURCES + 2)
        stage.observer.delete("v1", "ConfigMap", "u2")
        wait_for_runs(operator, RESOURCES + 3)
        stage.observer.delete(*KIND, GOES)
        wait_for("it to be gone", lambda: not stage.get(GOES), seconds=PATIENCE)
        memory = accounting.resident(operator.pid)
    asked = audit.requests(lambda one: one.namespace == name and not one.by_kubernetes)
    own = [one for one in asked if one.agent.startswith(OPERATOR)]
    return Cost(
        reads=Counter(f"{one.verb} {one.resource}" for one in own if not one.is_write and one.name != GOES),
        looks=sum(not one.is_write and one.name == GOES for one in own),
        writes=Counter(f"{one.verb} {one.resource}" for one in own if one.is_write and one.resource != "events"),
        events=sum(one.is_write and one.resource == "events" for one in own),
        memory=memory,
    )


def compared(plane: ControlPlane, work: Path, base: tuple[str, ...]) -> list[Finding]:
    """This operator beside an earlier one."""
    before, now = story(plane, work, "base", base), story(plane, work, "unused")
    return [
        exactly("reads of a project without the fields", _told(before.reads), _told(now.reads)),
        exactly("writes of it", _told(before.writes), _told(now.writes)),
        exactly("Events of it: one for each change of a dependent by others", FOREIGN, now.events),
        below("RSS of it", (before.memory + MORE) / 2**20, now.memory / 2**20, "MiB"),
    ]


def _told(counted: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(counted.items()))
