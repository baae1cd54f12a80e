"""What an operator prints of a run, at each level of --ansible-log-events."""

from __future__ import annotations

from typing import Any

from tests.parity.batches.common import tell
from tests.parity.batches.values import ANNOTATION
from tests.parity.operator import Operator
from tests.parity.stage import Stage

WATCHES = """
- {group: $GROUP, version: v1, kind: Shown, role: shown}
"""
ROLE = """
- name: Quiet fact
  set_fact: {shown: 1}
- name: Short debug
  debug: {msg: short words}
- name: Full debug
  ansible.builtin.debug: {msg: full words}
- name: Looped
  ansible.builtin.command: "echo {{ item }}"
  loop: [one, two]
- name: Ignored
  ansible.builtin.fail: {msg: never mind}
  ignore_errors: true
- name: Refused
  ansible.builtin.fail: {msg: refused for good}
  when: refuse | default(false)
"""
LEVELS = {"tasks": "TASKS", "everything": "everything", "nothing": "Nothing", "odd": "loud"}
"""The flag's values, by what they are called here; every case is fine, and what is unknown means tasks."""


def observe(stage: Stage, facts: dict[str, Any]) -> None:
    stage.role("shown", ROLE + tell("mark"))
    stage.kinds("Shown")
    facts |= {"group": stage.group, "namespace": stage.namespace}
    for name, flag in LEVELS.items():
        debug = {"ANSIBLE_DEBUG_LOGS": "true"} if name == "nothing" else {}
        flags = (f"--ansible-log-events={flag}", "--max-concurrent-reconciles=1", "--ansible-verbosity=0")
        with stage.operator(*flags, watches=WATCHES, environment=debug) as operator:
            show(stage, facts, operator, name)


def show(stage: Stage, facts: dict[str, Any], operator: Operator, level: str) -> None:
    """One plain run; with tasks also one with the verbosity annotation, and one that fails."""
    shown = [level]
    stage.create("Shown", level, {})
    stage.succeeded("Shown", level)
    if level == "tasks":
        shown.append("verbose")
        before = len(operator.printed())
        stage.create("Shown", "verbose", {}, annotations={f"{ANNOTATION}verbosity": "1"})
        stage.succeeded("Shown", "verbose")
        facts["verbose out"] = operator.printed()[before:]
        facts["tasks out"] = operator.printed()[:before]
        facts["tasks blocks"] = [record for record in operator.records() if "stdout" in record]
        stage.create("Shown", "failed", {"refuse": True})
        stage.failed("Shown", "failed")
        stage.delete("Shown", "failed")
        shown.append("failed")
    else:
        facts[f"{level} out"] = operator.printed()
    for name in shown:
        stage.delete("Shown", name)
        facts[f"{name} records"] = [record for record in operator.records() if record.get("name") == name]
    facts[f"{level} errors"] = [record["msg"] for record in operator.records() if record.get("level") != "info"]
    facts[f"{level} stderr"] = operator.stderr()
