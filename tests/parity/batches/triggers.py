"""What makes a custom resource run, and what does not: changes, periods, finalizers, workers.

What should not cause a run is followed by a marker, a new custom resource of the same kind, whose kind runs one
at a time: once that ran, what came before would have run, too.
"""

from __future__ import annotations

from typing import Any

from tests.parity.batches.common import as_play, tell, together
from tests.parity.batches.values import ANNOTATION
from tests.parity.operator import known_flags
from tests.parity.stage import Stage, conditions

WATCHES = """
- {group: $GROUP, version: v1, kind: Labelled, role: hello}
- {group: $GROUP, version: v1, kind: Annotated, role: hello, watchAnnotationsChanges: true}
- group: $GROUP
  version: v1
  kind: Selected
  role: hello
  selector: {matchLabels: {run: "yes"}, matchExpressions: [{key: never, operator: DoesNotExist}]}
  finalizer: {name: parity.example.com/bye, vars: {farewell: vars}}
- group: $GROUP
  version: v1
  kind: Finvars
  role: hello
  finalizer: {name: parity.example.com/bye, vars: {farewell: vars}}
- {group: $GROUP, version: v1, kind: Finrole, role: hello, finalizer: {name: parity.example.com/bye, role: bye}}
- group: $GROUP
  version: v1
  kind: Finbook
  role: hello
  finalizer: {name: parity.example.com/bye, role: bye, playbook: bye.yml}
- group: $GROUP
  version: v1
  kind: Cased
  role: hello
  Selector: {MatchLabels: {run: "yes"}}
  FINALIZER: {NAME: parity.example.com/cased, Vars: {farewell: cased}}
- {group: $GROUP, version: v1, kind: Pair, role: meet}
- {group: $GROUP, version: v1, kind: Worker, role: meet}
- {group: $GROUP, version: v1, kind: Single, role: alone}
"""
PERIODS = """
- {group: $GROUP, version: v1, kind: Flagged, role: hello, reconcilePeriod: 0s}
- {group: $GROUP, version: v1, kind: Hourly, role: hello, reconcilePeriod: 1h}
- {group: $GROUP, version: v1, kind: Never, role: hello, reconcilePeriod: -1s}
"""
KINDS = (
    *("Labelled", "Annotated", "Selected", "Finvars", "Finrole", "Finbook", "Cased", "Pair", "Worker", "Single"),
    *("Flagged", "Hourly", "Never"),
)
EXTRA = (
    "{{ {'role': role_path | default(''), 'farewell': farewell | default(''),"
    " 'finalizers': me.metadata.finalizers | default([]), 'deleting': me.metadata.deletionTimestamp is defined}"
    " | to_json }}"
)
HELLO = (
    tell("mark", EXTRA)
    + """\
  vars:
    me: "{{ lookup('ansible.builtin.vars', *query('ansible.builtin.varnames', '^_triggers_.*(?<!_spec)$')) }}"
- name: Take a while
  ansible.builtin.wait_for: {timeout: "{{ seconds }}"}
  when: seconds is defined
- name: Refuse
  ansible.builtin.fail: {msg: not yet}
  when: refuse | default(false)
"""
)
BYE = "parity.example.com/bye"


def observe(stage: Stage, facts: dict[str, Any]) -> None:
    write_project(stage)
    stage.kinds(*KINDS)
    stage.create("Labelled", "existing", {})
    stage.create("Selected", "unselected", {})
    key = stage.group.upper().replace(".", "_")
    environment = {
        f"MAX_CONCURRENT_RECONCILES_PAIR_{key}": "2",
        f"WORKER_WORKER_{key}": "2",
        f"MAX_CONCURRENT_RECONCILES_SINGLE_{key}": "1",
        f"WORKER_SINGLE_{key}": "2",
    }
    flags = ("--reconcile-period=0s", "--max-concurrent-reconciles=1")
    with stage.operator(*flags, watches=WATCHES, environment=environment):
        together(stage, facts, changes, selector, finalizers, workers)
        facts["existing"] = len(stage.told("existing"))
        facts["labelled first"] = len(stage.told("labels"))
    as_short_as_asked = known_flags(stage.command, "--min-reconcile-period=1s")
    with stage.operator("--reconcile-period=1s", *as_short_as_asked, watches=PERIODS):
        periods(stage, facts)


def write_project(stage: Stage) -> None:
    stage.role("hello", HELLO)
    stage.role("bye", HELLO)
    stage.role("meet", tell("meet", "60"))
    stage.role("alone", tell("meet", "1"))
    stage.write("bye.yml", as_play(HELLO))


def marker(stage: Stage, kind: str, name: str, **metadata: Any) -> None:
    stage.create(kind, name, {}, **metadata)
    stage.ran(name)


def runs(stage: Stage, name: str) -> int:
    return len(stage.told(name))


def changes(stage: Stage, facts: dict[str, Any]) -> None:
    names = ("labels", "notes", "status", "spec", "keep")
    for name in names:
        stage.create("Labelled", name, {"a": 1}, finalizers=["other.example.com/keep"] if name == "keep" else [])
    stage.create("Annotated", "watched", {})
    for name in (*names, "watched"):
        stage.ran(name)
    stage.succeeded("Labelled", "keep")
    stage.succeeded("Annotated", "watched")
    stage.patch("Labelled", "labels", {"metadata": {"labels": {"a": "b"}}})
    stage.patch("Labelled", "notes", {"metadata": {"annotations": {"a": "b"}}})
    stage.patch("Labelled", "status", {"status": {"mine": 1}}, sub="status")
    stage.delete("Labelled", "keep")
    stage.patch("Labelled", "spec", {"spec": {"a": 2}})
    stage.patch("Annotated", "watched", {"metadata": {"annotations": {"a": "b"}}})
    stage.ran("spec", 2)
    stage.ran("watched", 2)
    marker(stage, "Labelled", "marker")
    facts["labels changed"], facts["annotations changed"] = runs(stage, "labels"), runs(stage, "notes")
    facts["status changed"], facts["spec changed"] = runs(stage, "status"), runs(stage, "spec")
    facts["annotations watched"], facts["terminated"] = runs(stage, "watched"), runs(stage, "keep")
    stage.patch("Labelled", "keep", {"metadata": {"finalizers": None}})


def selector(stage: Stage, facts: dict[str, Any]) -> None:
    chosen = {"labels": {"run": "yes"}}
    stage.create("Selected", "later", {})
    stage.patch("Selected", "unselected", {"spec": {"a": 2}})
    marker(stage, "Selected", "chosen", **chosen)
    facts["unselected"] = facts["unselected spec"] = runs(stage, "unselected")
    stage.patch("Selected", "later", {"metadata": chosen})
    stage.ran("later")
    stage.succeeded("Selected", "chosen")
    stage.patch("Selected", "chosen", {"metadata": {"labels": {"run": "no"}}})
    stage.delete("Selected", "chosen")
    facts["unmatched gone"] = gone(stage, "Selected", "chosen")
    facts["selected later"] = runs(stage, "later")
    stage.create("Cased", "uncased", {})
    marker(stage, "Cased", "cased", **chosen)
    facts["cased finalizers"] = stage.get("Cased", "cased")["metadata"].get("finalizers")
    facts["cased selector"] = runs(stage, "uncased")
    stage.patch("Cased", "cased", {"metadata": {"finalizers": None}})


def finalizers(stage: Stage, facts: dict[str, Any]) -> None:
    for kind in ("Finvars", "Finrole", "Finbook"):
        stage.create(kind, kind.lower(), {})
    stage.create("Finrole", "stubborn", {"refuse": False})
    stage.create("Finvars", "shared", {}, finalizers=["other.example.com/keep"])
    stage.create("Finvars", "slow", {"seconds": 3})
    stage.ran("slow")
    stage.delete("Finvars", "slow")
    for kind, name in (
        ("Finrole", "stubborn"),
        ("Finvars", "shared"),
        ("Finvars", "finvars"),
        ("Finrole", "finrole"),
        ("Finbook", "finbook"),
    ):
        stage.succeeded(kind, name)
    facts["vars finalizers"] = stage.get("Finvars", "finvars")["metadata"].get("finalizers")
    for kind, name in (
        ("Finvars", "finvars"),
        ("Finrole", "finrole"),
        ("Finbook", "finbook"),
        ("Finvars", "shared"),
    ):
        stage.delete(kind, name)
    stage.patch("Finrole", "stubborn", {"spec": {"refuse": True}})
    stage.delete("Finrole", "stubborn")
    stage.wait("stubborn to refuse", lambda: any(entry["extra"]["deleting"] for entry in stage.told("stubborn")))
    stage.failed("Finrole", "stubborn")
    body = stage.get("Finrole", "stubborn")
    facts["stubborn"] = (
        conditions(body).get("Failure", {}).get("status"),
        body.get("metadata", {}).get("finalizers"),
    )
    stage.patch("Finrole", "stubborn", {"spec": {"refuse": False}})
    facts["stubborn gone"] = gone(stage, "Finrole", "stubborn")
    facts["vars gone"] = gone(stage, "Finvars", "finvars")
    facts["deleted meanwhile gone"] = gone(stage, "Finvars", "slow")
    for kind in ("Finrole", "Finbook"):
        gone(stage, kind, kind.lower())
    stage.wait(
        "shared to lose ours", lambda: BYE not in stage.get("Finvars", "shared")["metadata"].get("finalizers", [])
    )
    marker(stage, "Finvars", "after")
    facts["foreign finalizer"] = (
        runs(stage, "shared"),
        stage.get("Finvars", "shared")["metadata"].get("finalizers"),
    )
    for kind in ("vars", "role", "playbook"):
        told = stage.told({"vars": "finvars", "role": "finrole", "playbook": "finbook"}[kind])
        facts[f"{kind} runs"] = [entry["extra"]["role"].removeprefix(f"{stage.project}/") for entry in told]
        facts[f"{kind} farewells"] = [entry["extra"]["farewell"] for entry in told]
        facts[f"{kind} seen"] = told[0]["extra"]["finalizers"] if told else None
    facts["deleted meanwhile"] = [entry["extra"]["deleting"] for entry in stage.told("slow")]
    for name in ("shared", "after"):
        stage.patch("Finvars", name, {"metadata": {"finalizers": None}})


def gone(stage: Stage, kind: str, name: str) -> bool:
    return bool(stage.wait(f"{name} to be gone", lambda: not stage.get(kind, name)))


def workers(stage: Stage, facts: dict[str, Any]) -> None:
    for kind in ("Pair", "Worker", "Single"):
        for number in (1, 2):
            stage.create(kind, f"{kind.lower()}-{number}", {})
    for kind in ("Pair", "Worker", "Single"):
        told = [stage.told(f"{kind.lower()}-{n}")[0]["met"] for n in (1, 2) if stage.ran(f"{kind.lower()}-{n}")]
        facts[f"{kind.lower()} met"] = told


def periods(stage: Stage, facts: dict[str, Any]) -> None:
    stage.create("Never", "never", {})
    stage.create("Hourly", "by-watch", {})
    stage.create("Hourly", "by-annotation", {}, annotations={f"{ANNOTATION}reconcile-period": "1s"})
    stage.create("Flagged", "annotated-never", {}, annotations={f"{ANNOTATION}reconcile-period": "0"})
    stage.create("Flagged", "by-flag", {})
    for name in ("never", "by-watch", "annotated-never"):
        stage.ran(name)
    stage.ran("by-annotation", 3)
    stage.ran("by-flag", 2)
    for name in ("never", "by-watch", "annotated-never", "by-annotation", "by-flag"):
        facts[name.replace("-", " ")] = runs(stage, name)
