"""Cold and warm runs side by side, and any other operator beside them: latency, CPU, throughput, memory.

Run by `make bench`. Every figure of one table comes from one run, in which the operators take turns, so that a
busy machine does the same to all of them: quote the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import accounting
from bench.bench import KIND, create, p50_p95, prepared
from bench.observer import Observer, condition, wait_for
from bench.operator import OperatorProcess
from bench.stock import SCENARIOS, cpu_of_stock_run, environment, write_project
from runner.dev.controlplane import ControlPlane

WARM_UP = 2
_ROOM = 2 * 1024**3
"""Bytes that all files of a comparison have room in."""


@dataclass(slots=True)
class Figures:
    """Of one operator in one scenario. Seconds and bytes; `cpu` is for one reconcile, with all its processes."""

    latencies: list[float] = field(default_factory=list)
    cpu: float = 0.0
    idle_memory: int = 0
    peak_memory: int = 0
    burst: int = 0
    burst_seconds: float = 0.0

    @property
    def throughput(self) -> float:
        return self.burst / self.burst_seconds if self.burst_seconds else 0.0


@dataclass(frozen=True, slots=True)
class Contender:
    """An operator at work in a namespace of its own."""

    name: str
    operator: OperatorProcess
    observer: Observer
    figures: Figures

    def once(self, name: str) -> float:
        """Seconds from the creation of a custom resource until it is Successful."""
        started = time.monotonic()
        create(self.observer, [name])
        wait_for(f"{name} to be Successful", lambda: self._done(name), seconds=120, every=0.004)
        return time.monotonic() - started

    def many(self, count: int) -> None:
        """Create custom resources at once, and wait for all of them."""
        names = [f"burst-{number}" for number in range(count)]
        started = time.monotonic()
        create(self.observer, names)
        wait_for("all to be Successful", lambda: self._all_done(names), seconds=60 + 10 * count, every=0.2)
        self.figures.burst, self.figures.burst_seconds = count, time.monotonic() - started

    def _all_done(self, names: list[str]) -> bool:
        self.figures.peak_memory = max(self.figures.peak_memory, accounting.memory(self.operator.pid))
        while names and self._done(names[-1]):
            names.pop()
        return not names

    def _done(self, name: str) -> bool:
        return bool(condition(self.observer.get(*KIND, name) or {}, "Successful").get("status") == "True")


Commands = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
"""The executable of each contender (empty: ours) and its flags."""


def commands(operator: str) -> Commands:
    ours: Commands = {"cold": ((), ("--executor=cold",)), "warm": ((), ("--executor=warm",))}
    return {**ours, **({operator: (tuple(shlex.split(operator)), ())} if operator else {})}


def compare(
    scenario: str, kubeconfig: Path, work: Path, who: Commands, rounds: int, bursts: Mapping[str, int]
) -> dict[str, Figures]:
    """The figures of each contender; `bursts` tells how many custom resources each gets at once."""
    with ExitStack() as stack:
        contenders = [_start(stack, name, scenario, kubeconfig, work, who[name]) for name in who]
        for number in range(WARM_UP):
            for contender in contenders:
                contender.once(f"first-{number}")
        before = {each.name: accounting.cpu_seconds(each.operator.pid) for each in contenders}
        for each in contenders:
            each.figures.idle_memory = accounting.memory(each.operator.pid)
        for number in range(rounds):
            for each in contenders:
                each.figures.latencies.append(each.once(f"one-{number}"))
        for each in contenders:
            each.figures.cpu = (accounting.cpu_seconds(each.operator.pid) - before[each.name]) / rounds
        for each in contenders:
            if count := bursts.get(each.name, 0):
                each.many(count)
        return {each.name: each.figures for each in contenders}


def _start(
    stack: ExitStack,
    name: str,
    scenario: str,
    kubeconfig: Path,
    work: Path,
    how: tuple[tuple[str, ...], tuple[str, ...]],
) -> Contender:
    place = work / scenario.replace(" ", "-") / f"{len(list(work.rglob('watches.yaml')))}"
    namespace = f"bench-{scenario.replace(' ', '-')}-{name if name in ('cold', 'warm') else 'other'}"
    admin = prepared(kubeconfig)
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    admin.close()
    observer = Observer(kubeconfig, namespace)
    stack.callback(observer.close)
    command, flags = how
    operator = OperatorProcess(
        write_project(place, scenario),
        kubeconfig,
        place / "work",
        "--max-concurrent-reconciles=2",
        *flags,
        environment={"WATCH_NAMESPACE": namespace, **environment(scenario)},
        command=command,
    )
    stack.enter_context(operator)
    return Contender(name, operator, observer, Figures())


Row = tuple[str, Callable[[Figures], float], str]
_ROWS: Sequence[Row] = (
    ("created -> Successful, p50", lambda of: p50_p95(of.latencies)[0], "{:.3f} s"),
    ("created -> Successful, p95", lambda of: p50_p95(of.latencies)[1], "{:.3f} s"),
    ("CPU-seconds a reconcile", lambda of: of.cpu, "{:.3f} s"),
    ("memory at rest, all processes", lambda of: of.idle_memory / 2**20, "{:.0f} MiB"),
    ("memory at most, two runs at a time", lambda of: of.peak_memory / 2**20, "{:.0f} MiB"),
    ("at once, a second", lambda of: of.throughput, "{:.2f}"),
)


def table(scenario: str, found: Mapping[str, Figures], stock: float) -> Table:
    """What was found in a scenario, and how warm compares with cold."""
    printed = Table("", *found, "cold : warm", title=scenario)
    for title, value, form in _ROWS:
        values = {name: value(figures) for name, figures in found.items()}
        if any(values.values()):
            low, high = sorted((values["cold"], values["warm"]))
            ratio = f"{high / low:.1f}" if low else ""
            printed.add_row(title, *(form.format(number) for number in values.values()), ratio)
    if stock:
        printed.add_row(
            "CPU-seconds, `ansible-runner run`", f"{stock:.3f} s", "", f"{stock / found['warm'].cpu:.1f}"
        )
    return printed


def _fast_place() -> str | None:
    """Memory, where there is enough: a disk on which each new file takes long would be what is compared."""
    place = "/dev/shm"  # noqa: S108  (below it a directory of our own is made)
    enough = os.access(place, os.W_OK) and shutil.disk_usage(place).free > _ROOM
    return place if enough and "TMPDIR" not in os.environ else None


def main() -> int:
    """The comparison as a command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="custom resources one after the other, for each")
    parser.add_argument(
        "--resources",
        type=int,
        default=200,
        help="custom resources at once; a fifth for cold, a tenth after the first scenario",
    )
    parser.add_argument("--scenarios", nargs="*", default=SCENARIOS, choices=SCENARIOS)
    parser.add_argument("--operator", default="", help="another executable with the same command line")
    parser.add_argument("--output", type=Path, help="write the figures to this file, as JSON")
    options = parser.parse_args()
    console, everything = Console(), {}
    who = commands(options.operator)
    with ExitStack() as stack:
        folder = tempfile.TemporaryDirectory(prefix="ansible-operator-compare-", dir=_fast_place())
        work = Path(stack.enter_context(folder))
        plane = stack.enter_context(ControlPlane(work / "plane"))
        prepared(plane.kubeconfig).close()
        for scenario in options.scenarios:
            at_once = options.resources if scenario == SCENARIOS[0] else options.resources // 10
            bursts = {name: at_once if name == "warm" else at_once // 5 for name in who}
            found = compare(scenario, plane.kubeconfig, work, who, options.rounds, bursts)
            stock = cpu_of_stock_run(work / "stock", scenario, plane.kubeconfig)
            console.print(table(scenario, found, stock))
            everything[scenario] = {name: asdict(figures) for name, figures in found.items()}
            everything[scenario]["ansible-runner run"] = {"cpu": stock}
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(everything, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
