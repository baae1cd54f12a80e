"""What it costs that custom resources refer to Secrets, and how soon they react when one changes."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from pathlib import Path

from bench import accounting
from bench.bench import KIND
from bench.observer import Object, Observer, wait_for
from bench.operator import OperatorProcess
from bench.stage import PATIENCE, Finding, Stage, below, counted, each, exactly, runs, wait_for_runs
from runner.dev.controlplane import ControlPlane

CANARY = "canary-that-only-a-secret-holds"
ENCODED = base64.b64encode(CANARY.encode()).decode()
MEMORY = 14.3
SOON = 1.0
"""MiB and seconds."""
NOTHING = """
- name: Say something
  ansible.builtin.debug:
    msg: hello
"""


def references(
    plane: ControlPlane, work: Path, *, resources: int = 1000, naming: int = 3, secrets: int = 10_000
) -> list[Finding]:
    """A Secret changes that some of many custom resources name, in a namespace with many more Secrets."""
    secret: Object = {"apiVersion": "v1", "kind": "Secret"}
    stage = Stage(plane, work, "references", NOTHING, references=[{**secret, "names": "spec.text"}])
    names = {f"r{number}": "creds" if number < naming else f"other-{number}" for number in range(resources)}
    _reconciled(stage, names)
    for name in ("creds", f"other-{naming}"):
        _secret(stage.observer, name)
    flags = ("--reconcile-at-start=false", "--executor=warm", "--zap-log-level=debug")
    with stage, stage.operator(*flags) as operator:
        wait_for("all to be read", lambda: len(list(operator.records("Decided"))) >= resources, seconds=PATIENCE)
        wait_for("Secrets to be watched", lambda: _watched(operator, "Secret"), seconds=PATIENCE)
        _change(stage.observer, "creds", 1)
        wait_for_runs(operator, naming)
        before = accounting.resident(operator.pid)
        each(lambda number: _secret(stage.observer, f"secret-{number}"), map(str, range(secrets)))
        begun, known = time.time(), len(runs(operator))
        _change(stage.observer, "creds", 2)
        wait_for_runs(operator, 2 * naming)
        _change(stage.observer, f"other-{naming}", 1)  # what the change before asked for has come by then
        found = wait_for_runs(operator, 2 * naming + 1)[known:]
        after = accounting.resident(operator.pid)
        held = accounting.holding(operator.pid, [CANARY.encode(), ENCODED.encode()])
        told = [text for text in (CANARY, ENCODED) if text in operator.printed()]
    caused = sorted(record["name"] for record in found)
    seconds = min(record["began"] for record in found) - begun
    expected = sorted([*(name for name, text in names.items() if text == "creds"), f"r{naming}"])
    return [
        counted(
            f"runs, when a Secret changes that {naming} of {resources} name",
            str(naming),
            str(len(caused) - 1),
            holds=caused == expected,
        ),
        below("the first of them begins after", SOON, seconds, "s"),
        below(f"RSS for {secrets:,} Secrets", MEMORY, (after - before) / 2**20, "MiB"),
        exactly("processes whose memory has what a Secret holds", 0, len(held)),
        exactly("the same in the log", 0, len(told)),
    ]


def _reconciled(stage: Stage, names: Mapping[str, str]) -> None:
    """Custom resources that an operator before has reconciled: one really, the others have its status."""
    stage.create({"model": ""})
    with stage.operator(name="before"):
        stage.successful(["model"])
    status = stage.get("model")["status"]
    stage.observer.delete(*KIND, "model")
    stage.create(names)
    each(lambda name: stage.observer.patch_status(*KIND, name, status), names)


def _secret(observer: Observer, name: str) -> None:
    """One with an annotation, as most are that somebody has applied."""
    metadata = {"name": name, "annotations": {"example.com/note": f"{name}: " + "x" * 200}}
    observer.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"password": ENCODED}})


def _change(observer: Observer, name: str, number: int) -> None:
    observer.patch("v1", "Secret", name, {"data": {"number": base64.b64encode(b"%d" % number).decode()}})


def _watched(operator: OperatorProcess, kind: str) -> bool:
    return any(f"Kind={kind}" in str(record.get("gvk")) for record in operator.records("watching"))
