"""The benchmark: what a reconcile costs, stage by stage, and what idle objects cost.

Run by `make bench`. Figures of one run are comparable with each other only: quote ratios and the operator's own
share, not absolute times of a busy machine.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.observer import Object, Observer, condition, wait_for
from bench.operator import OperatorProcess, Record
from runner.dev.controlplane import ControlPlane

PROJECT = Path(__file__).parent / "project"
KIND = ("bench.example.com/v1", "OneTask")
STAGES = ("waited", "get", "prepare", "ansible", "status")


@dataclass(frozen=True, slots=True)
class Burst:
    """Many custom resources created at once. Seconds, but for the counts."""

    resources: int
    runs: int
    overlaps: int
    seconds: float
    own_cpu_per_run: float
    memory: int
    stages: dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Idle:
    """Many custom resources with a dependent each, that nobody changes. Seconds and bytes."""

    resources: int
    memory: int
    new_one_started: float


def burst(observer: Observer, operator: OperatorProcess, count: int) -> Burst:
    """Create `count` custom resources, and wait until all are Successful."""
    names = [f"burst-{number}" for number in range(count)]
    cpu, started = operator.cpu_seconds(), time.monotonic()
    create(observer, names)
    wait_for("all to be Successful", lambda: _all_successful(observer, names), seconds=60 + 10 * count, every=1)
    seconds = time.monotonic() - started
    used = operator.cpu_seconds() - cpu
    records = [record for record in operator.records("Reconciled") if record["name"] in set(names)]
    return Burst(
        resources=count,
        runs=len(records),
        overlaps=overlaps(records),
        seconds=seconds,
        own_cpu_per_run=used / max(1, len(records)),
        memory=operator.memory(),
        stages={stage: p50_p95([record["stages"][stage] for record in records]) for stage in STAGES},
    )


def idle(observer: Observer, operator: OperatorProcess, count: int) -> Idle:
    """Start against `count` custom resources and as many dependents; then create one more."""
    names = [f"idle-{number}" for number in range(count)]
    create(observer, names)
    create_dependents(observer, names)
    started = time.monotonic()
    operator.start()
    create(observer, ["new"])
    wait_for("the new one to be taken before the backlog", lambda: _started(observer, "new"), seconds=120)
    new_one_started = time.monotonic() - started
    wait_for(
        "a first run, so that dependents are watched", lambda: any(operator.records("Reconciled")), seconds=120
    )
    wait_for("all dependents to be known", lambda: _dependents_listed(operator), seconds=60)
    return Idle(resources=count, memory=operator.memory(), new_one_started=new_one_started)


def create(observer: Observer, names: Iterable[str]) -> None:
    api_version, kind = KIND
    bodies: list[Object] = [
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": {"text": name}}
        for name in names
    ]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(observer.create, bodies))


def create_dependents(observer: Observer, names: Sequence[str]) -> None:
    owners = {body["metadata"]["name"]: body["metadata"]["uid"] for body in observer.list(*KIND)}
    api_version, kind = KIND
    bodies: list[Object] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": name, "uid": owners[name]}],
            },
            "data": {"text": name},
        }
        for name in names
    ]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(observer.create, bodies))


def overlaps(records: Iterable[Record]) -> int:
    """How many runs of one object began before the one before had ended."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        spans.setdefault(record["name"], []).append((record["began"], record["began"] + record["seconds"]))
    count = 0
    for runs in spans.values():
        runs.sort()
        count += sum(later[0] < earlier[1] for earlier, later in pairwise(runs))
    return count


def _all_successful(observer: Observer, names: Sequence[str]) -> bool:
    wanted = set(names)
    found = [body for body in observer.list(*KIND) if body["metadata"]["name"] in wanted]
    good = sum(condition(body, "Successful").get("status") == "True" for body in found)
    return bool(good == len(wanted))


def _started(observer: Observer, name: str) -> bool:
    return bool(condition(observer.get(*KIND, name), "Running"))


def _dependents_listed(operator: OperatorProcess) -> bool:
    return any("Kind=ConfigMap" in str(record.get("gvk")) for record in operator.records("watching"))


def p50_p95(values: Sequence[float]) -> tuple[float, float]:
    """The median, and what 95 of 100 do not exceed."""
    ordered = sorted(values)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def report(found_burst: Burst | None, found_idle: Idle | None, console: Console) -> None:
    """Print what was found as tables."""
    if found_burst:
        table = Table("stage", "p50", "p95", title=f"{found_burst.resources} custom resources created at once")
        for stage, (p50, p95) in found_burst.stages.items():
            table.add_row(stage, f"{p50 * 1000:.0f} ms", f"{p95 * 1000:.0f} ms")
        console.print(table)
        console.print(
            f"runs: {found_burst.runs}, overlapping: {found_burst.overlaps}, all in {found_burst.seconds:.0f} s, "
            f"the operator's own CPU for a run: {found_burst.own_cpu_per_run * 1000:.0f} ms, "
            f"its memory: {found_burst.memory / 2**20:.0f} MiB"
        )
    if found_idle:
        console.print(
            f"{found_idle.resources} idle custom resources with a dependent each: "
            f"{found_idle.memory / 2**20:.0f} MiB, a new one taken "
            f"{found_idle.new_one_started:.1f} s after the start, before the backlog"
        )


def main() -> int:
    """The benchmark as a command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--resources", type=int, default=200, help="how many are created at once; 0: leave this out"
    )
    parser.add_argument("--idle", type=int, default=5000, help="how many rest; 0: leave this out")
    parser.add_argument("--operator", default="", help="another executable with the same command line")
    parser.add_argument("--output", type=Path, help="write the figures to this file, as JSON")
    options = parser.parse_args()
    console, command = Console(), tuple(shlex.split(options.operator))
    found_burst = found_idle = None
    with tempfile.TemporaryDirectory(prefix="ansible-operator-bench-") as folder:
        work = Path(folder)
        if options.resources:
            with ControlPlane(work / "burst") as plane:
                observer = prepared(plane.kubeconfig)
                with OperatorProcess(
                    PROJECT, plane.kubeconfig, work / "burst-operator", command=command
                ) as operator:
                    found_burst = burst(observer, operator, options.resources)
        if options.idle:
            with ControlPlane(work / "idle") as plane:
                observer = prepared(plane.kubeconfig)
                operator = OperatorProcess(PROJECT, plane.kubeconfig, work / "idle-operator", command=command)
                try:
                    found_idle = idle(observer, operator, options.idle)
                finally:
                    operator.stop()
    report(found_burst, found_idle, console)
    if options.output:
        figures = {name: asdict(part) for name, part in (("burst", found_burst), ("idle", found_idle)) if part}
        options.output.write_text(json.dumps(figures, indent=2))
    return 0


def prepared(kubeconfig: Path, namespace: str = "default") -> Observer:
    """A view of a namespace, with the benchmark's kind served."""
    observer = Observer(kubeconfig, namespace)
    observer.apply(PROJECT / "crd.yaml")
    wait_for("the kind to be served", lambda: observer.serves(*KIND), seconds=30)
    return observer


if __name__ == "__main__":
    sys.exit(main())
