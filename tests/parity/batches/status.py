"""What the status says at each moment of a run, for every way in which a run can end."""

from __future__ import annotations

import json
import time
from datetime import datetime
from functools import partial
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.parity.batches.common import ASK, tell
from tests.parity.batches.values import ANNOTATION
from tests.parity.cluster import MERGE, Object
from tests.parity.operator import Operator
from tests.parity.stage import PATIENCE, Stage, conditions

WATCHES = """
- {group: $GROUP, version: v1, kind: Managed, role: case}
- {group: $GROUP, version: v1, kind: Unmanaged, role: case, manageStatus: false}
- {group: $GROUP, version: v1, kind: Worded, role: case, goMessages: true}
- {group: $GROUP, version: v1, kind: Plain, role: case}
- {group: $GROUP, version: v1, kind: Nohost, playbook: nohost.yml}
- {group: $GROUP, version: v1, kind: Others, playbook: others.yml}
- {group: $GROUP, version: v1, kind: Broken, playbook: broken.yml}
"""
CASES = {
    "ok": """
        - ansible.builtin.debug: {msg: fine}
        - ansible.builtin.command: "true"
        - ansible.builtin.debug: {msg: never}
          when: false
        """,
    "fail": "- ansible.builtin.fail: {msg: as asked}",
    "rescued": """
        - block:
            - ansible.builtin.fail: {msg: for the rescue}
          rescue:
            - ansible.builtin.debug: {msg: rescued}
        """,
    "ignored": """
        - ansible.builtin.fail: {msg: never mind}
          ignore_errors: true
        """,
    "loop": """
        - ansible.builtin.fail: {msg: "item {{ item }}"}
          loop: [1, 2]
        """,
    "retried": """
        - ansible.builtin.command: "true"
          register: tried
          until: tried.attempts > 1
          retries: 2
          delay: 0
        """,
    "unreachable": """
        - ansible.builtin.command: "true"
          vars: {ansible_remote_tmp: /proc/none}
        """,
    "hidden": """
        - ansible.builtin.fail: {msg: secret}
          no_log: true
        """,
    "writer": ASK,
}
"""The tasks of spec.case. Some of the names that these use are not fully qualified on purpose."""
FAILING = ("fail", "loop", "unreachable", "hidden")
FINE = ("rescued", "ignored", "retried")
BOOKS = {
    "nohost.yml": """
        - hosts: nowhere
          tasks: [{ansible.builtin.debug: {msg: never}}]
        """,
    "others.yml": """
        - hosts: localhost
          gather_facts: false
          tasks:
            - ansible.builtin.add_host: {name: "{{ item }}", ansible_connection: local}
              loop: [first, second]
        - hosts: first, second
          gather_facts: false
          tasks: [{ansible.builtin.fail: {msg: "{{ inventory_hostname }} failed"}}]
        """,
    "broken.yml": """
        - hosts: localhost
          gather_facts: false
          tasks: [{no_such_module_anywhere: {}}]
        """,
}
FOREIGN = {
    "type": "Foreign",
    "status": "False",
    "reason": "Mine",
    "message": "not yours",
    "lastTransitionTime": "2020-01-02T03:04:05Z",
    "observedGeneration": 7,
}


def observe(stage: Stage, facts: dict[str, Any]) -> None:
    write_project(stage)
    stage.kinds("Managed", "Unmanaged", "Worded", "Nohost", "Others", "Broken")
    stage.kinds("Plain", status=False)
    with_a_status(stage, "foreign", {"custom": {"kept": [1]}, "ok": 5, "conditions": [FOREIGN]})
    with_a_status(stage, "odd", {"conditions": [1, FOREIGN]})
    counters = {"type": "Running", "status": "True", "ansibleResult": {"ok": "many", "completion": "yesterday"}}
    with_a_status(stage, "counters", {"conditions": [counters]})
    with_a_status(stage, "text", {"conditions": "none"})
    history = stage.history("Managed")
    try:
        with stage.operator("--max-concurrent-reconciles=2", watches=WATCHES) as operator:
            fine(stage, facts)
            failing(stage, facts)
            life(stage, facts)
            unmanaged(stage, facts, operator)
            facts["metrics"] = metrics_of(operator.ask(operator.metrics, "/metrics")[1])
            facts["metrics status"] = operator.ask(operator.metrics, "/metrics")[0]
            for path in (
                "/healthz",
                "/readyz",
                "/healthz/healthz",
                "/healthz/ping",
                "/readyz/readyz",
                "/readyz?verbose",
            ):
                facts[path] = operator.ask(operator.health, path)
    finally:
        history.close()
    for name in ("lived", "failed", "refused", "foreign"):
        facts[f"{name} states"] = states(history.of(name))
    facts["rescued created"] = datetime.fromisoformat(
        facts["rescued"]["metadata"]["creationTimestamp"]
    ).timestamp()
    facts["group"], facts["namespace"] = stage.group, stage.namespace


def write_project(stage: Stage) -> None:
    stage.role("case", tell("mark") + '- ansible.builtin.include_tasks: "{{ case }}.yml"\n')
    for case, tasks in CASES.items():
        stage.write(f"roles/case/tasks/{case}.yml", tasks)
    for book, text in BOOKS.items():
        stage.write(book, text)


def with_a_status(stage: Stage, name: str, status: Object) -> None:
    stage.create("Managed", name, {"case": "ok"})
    stage.patch("Managed", name, {"status": status}, sub="status")


def fine(stage: Stage, facts: dict[str, Any]) -> None:
    """Custom resources that succeed at once."""
    for case in FINE:
        stage.create("Managed", case, {"case": case})
    stage.create("Nohost", "nohost", {})
    stage.create("Plain", "plain", {"case": "ok"})
    request = {
        "id": "status",
        "method": "PATCH",
        "path": stage.path("Managed", "writer", sub="status"),
        "headers": {"Content-Type": MERGE},
        "body": {"status": {"mine": "kept"}},
    }
    file = stage.write("requests.json", json.dumps([request]))
    stage.create("Managed", "writer", {"case": "writer", "file": str(file)})
    for name in ("foreign", "odd", "counters", "text", *FINE, "writer"):
        stage.succeeded("Managed", name)
        facts[name] = stage.get("Managed", name)
    stage.succeeded("Nohost", "nohost")
    facts["nohost"] = stage.get("Nohost", "nohost")
    facts["plain ran"] = stage.ran("plain")
    facts["writer runs"] = len(stage.told("writer", "mark"))


def failing(stage: Stage, facts: dict[str, Any]) -> None:
    """Custom resources that fail are removed as soon as that was seen: they would be tried again and again."""
    places = [("Managed", case) for case in FAILING[1:]] + [("Others", "others"), ("Broken", "broken")]
    for kind, name in (*places, *(("Worded", case) for case in FAILING)):
        stage.create(kind, name, {"case": name})
        stage.wait(f"{name} to fail", partial(ended, stage, kind, name))
        facts[name if kind != "Worded" else f"worded {name}"] = stage.get(kind, name)
        stage.delete(kind, name)


def ended(stage: Stage, kind: str, name: str) -> bool:
    return stage.has(kind, name, "Failure") or stage.has(kind, name, "Successful")


def life(stage: Stage, facts: dict[str, Any]) -> None:
    """Success, success, failure; failure, success; and a status error after a success."""
    stage.create("Managed", "lived", {"case": "ok"})
    stage.create("Managed", "refused", {"case": "ok"})
    stage.create("Managed", "failed", {"case": "fail"}, annotations={f"{ANNOTATION}reconcile-period": "5h"})
    stage.wait("failed to fail thrice", lambda: len(stage.told("failed")) >= 3)
    facts["failed retries"] = len(stage.told("failed"))
    stage.patch("Managed", "failed", {"spec": {"case": "ok"}})
    stage.succeeded("Managed", "lived", "refused", "failed")
    for change in ({"round": 2}, {"case": "fail"}):
        a_second_later(stage, "lived")
        stage.patch("Managed", "lived", {"spec": change})
        if "round" in change:
            stage.wait("another run", lambda: len(stage.told("lived")) == 2)
            stage.succeeded("Managed", "lived")
    stage.failed("Managed", "lived")
    facts["lived"] = stage.get("Managed", "lived")
    stage.delete("Managed", "lived")
    facts["refused runs"] = len(stage.told("refused"))
    annotation = {"annotations": {f"{ANNOTATION}reconcile-period": "30"}}
    stage.patch("Managed", "refused", {"metadata": annotation, "spec": {"round": 2}})
    stage.failed("Managed", "refused")
    facts["refused runs"] = len(stage.told("refused")) - facts["refused runs"]
    stage.delete("Managed", "refused")


def a_second_later(stage: Stage, name: str) -> None:
    """Times in a status are whole seconds: let one pass since the last change."""
    found = conditions(stage.get("Managed", name)).get("Successful", {}).get("lastTransitionTime")
    since = datetime.fromisoformat(found).timestamp() if found else 0
    stage.wait("a second to pass", lambda: time.time() >= since + 1.1)


def unmanaged(stage: Stage, facts: dict[str, Any], operator: Operator) -> None:
    """Without conditions, only the metrics show that runs have ended."""
    stage.create("Unmanaged", "quiet", {"case": "ok"})
    stage.create("Unmanaged", "wrong", {"case": "ok"}, annotations={f"{ANNOTATION}reconcile-period": "30"})
    stage.create("Unmanaged", "marker", {"case": "ok"})
    stage.ran("quiet")
    stage.ran("marker")
    stage.comes(lambda: successes(stage, operator, "Unmanaged") >= 2, PATIENCE)  # Go does not count them
    facts["quiet"], facts["wrong"] = stage.get("Unmanaged", "quiet"), stage.get("Unmanaged", "wrong")


def successes(stage: Stage, operator: Operator, kind: str) -> float:
    """The successful runs of a kind that the operator has counted."""
    labels = {"GVK": f"{stage.group}/v1, Kind={kind}", "result": "succeeded"}
    samples = metrics_of(operator.ask(operator.metrics, "/metrics")[1])
    return sum(
        value
        for _, name, found, value in samples
        if name == "ansible_operator_reconcile_result" and found == labels
    )


def states(versions: list[Object]) -> list[dict[str, dict[str, Any]]]:
    """The conditions of each version, repeated ones left out."""
    found: list[dict[str, dict[str, Any]]] = []
    for body in versions:
        state = conditions(body)
        if state and (not found or found[-1] != state):
            found.append(state)
    return found


def metrics_of(text: str) -> list[tuple[str, str, dict[str, str], float]]:
    """(type, name, labels, value) of every sample."""
    return [
        (family.type, sample.name, dict(sample.labels), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
