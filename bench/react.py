"""The benchmark of reactions: what referenced objects, live status and dependents that matter cost, and how soon.

Run by `make bench-react`. Each part makes a project and a namespace of its own; its figures have goals.
Counts are exact; seconds are those of the machine that it runs on.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import live, referenced, unused
from bench.audit import AuditLog
from bench.stage import Finding, Stage, below, wait_for_runs
from runner.dev.components import AuditLevel, Options
from runner.dev.controlplane import ControlPlane

AT_ONCE = 0.5
"""Seconds."""
JOB = """
- name: Keep a Job
  kubernetes.core.k8s:
    definition:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}
      spec:
        template: {spec: {restartPolicy: Never, containers: [{name: build, image: "build:1"}]}}
"""


def job_completes(plane: ControlPlane, work: Path, *, times: int = 10) -> list[Finding]:
    """A role starts a Job, and its watch has `reconcileOn` when it is complete."""
    wanted = {"apiVersion": "batch/v1", "kind": "Job", "reconcileOn": "status.completionTime"}
    stage = Stage(plane, work, "jobs", JOB, dependents=[wanted])
    audit, seconds = AuditLog(plane.audit_log), []
    with stage, stage.operator("--executor=warm") as operator:
        for number in range(times):
            stage.create({f"j{number}": ""})
            run = wait_for_runs(operator, 2 * (number + 1))[-1]
            completed = audit.requests(
                lambda one: one.is_write and (one.resource, one.name) == ("jobs/status", f"j{number}")  # noqa: B023
            )[-1].time
            seconds.append(run["began"] - completed.timestamp())
    return [
        below(f"seconds after which the next run begins, of {times} Jobs, the longest", AT_ONCE, max(seconds), "s")
    ]


def report(part: str, findings: Sequence[Finding], console: Console) -> None:
    table = Table("what", "goal", "measured", "", title=part)
    for finding in findings:
        table.add_row(finding.what, finding.goal, finding.measured, "" if finding.share <= 1 else "MISSED")
    console.print(table)


PARTS: dict[str, Callable[[ControlPlane, Path], list[Finding]]] = {
    "references": referenced.references,
    "live": live.live_status,
    "crowd": live.crowd,
    "jobs": job_completes,
}


def main() -> int:
    """The benchmark as a command; returns 1 where a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[*PARTS, "unused"], action="append", help="this part; may be repeated")
    parser.add_argument(
        "--base", default="", help="an earlier executable, to compare a project without the fields"
    )
    options = parser.parse_args()
    if "unused" in (options.only or ()) and not options.base:
        parser.error("unused needs --base: what to compare with")
    console, missed = Console(), 0
    with tempfile.TemporaryDirectory(prefix="bench-react-") as folder:
        for name in options.only or [*PARTS, *(["unused"] if options.base else [])]:
            with ControlPlane(Path(folder) / "planes" / name, Options(audit=AuditLevel.METADATA)) as plane:
                part = PARTS.get(name) or partial(unused.compared, base=tuple(shlex.split(options.base)))
                findings = part(plane, Path(folder))
            report(name, findings, console)
            missed += sum(finding.share > 1 for finding in findings)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
