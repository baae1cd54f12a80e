"""A namespace and a project for a part of the benchmark of reactions, and what such a part finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import TracebackType
from typing import Self

import yaml

from bench.audit import OPERATOR, AuditLog, Request
from bench.bench import KIND, prepared
from bench.observer import Object, Observer, condition, wait_for
from bench.operator import OperatorProcess, Record
from runner.dev.controlplane import ControlPlane

PATIENCE = 300.0
STATUS = "onetasks/status"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was measured against its goal. `share` is the part of what is allowed that was used: more than 1 is too
    much. Of counts, which hold or not whatever else the machine does, it is 0 or infinite.
    """

    what: str
    goal: str
    measured: str
    share: float


def exactly(what: str, goal: object, found: object) -> Finding:
    return counted(what, str(goal), str(found), holds=found == goal)


def counted(what: str, goal: str, found: str, *, holds: bool) -> Finding:
    return Finding(what, goal, found, 0.0 if holds else math.inf)


def below(what: str, goal: float, found: float, unit: str) -> Finding:
    return Finding(what, f"< {goal:g} {unit}", f"{found:.2f} {unit}", found / goal)


class Stage:
    """A namespace, a project, and the operators that run it there one after the other."""

    def __init__(self, plane: ControlPlane, work: Path, name: str, tasks: str, **fields: object) -> None:
        self.plane, self.work = plane, work / name
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        Observer(plane.kubeconfig).apply(body)
        self.observer = prepared(plane.kubeconfig, name)
        self.project = self.work / "project"
        role = self.project / "roles/role/tasks/main.yml"
        role.parent.mkdir(parents=True)
        role.write_text(dedent(tasks))
        group, _, version = KIND[0].partition("/")
        watch = {"group": group, "version": version, "kind": KIND[1], "role": "role", **fields}
        (self.project / "watches.yaml").write_text(yaml.safe_dump([watch]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.observer.delete("v1", "Namespace", self.observer.namespace)
        self.observer.close()

    def operator(self, *flags: str, command: Sequence[str] = (), name: str = "operator") -> OperatorProcess:
        environment = {"WATCH_NAMESPACE": self.observer.namespace, "ANSIBLE_GATHERING": "explicit"}
        where = self.plane.kubeconfig, self.work / name
        return OperatorProcess(self.project, *where, *flags, environment=environment, command=tuple(command))

    def create(self, texts: Mapping[str, str]) -> None:
        api_version, kind = KIND
        each(
            lambda name: self.observer.create(
                {
                    "apiVersion": api_version,
                    "kind": kind,
                    "metadata": {"name": name},
                    "spec": {"text": texts[name]},
                }
            ),
            texts,
        )

    def get(self, name: str) -> Object:
        return self.observer.get(*KIND, name) or {}

    def successful(self, names: Iterable[str]) -> None:
        wanted = set(names)

        def reached() -> bool:
            found = [body for body in self.observer.list(*KIND) if body["metadata"]["name"] in wanted]
            good = sum(condition(body, "Successful").get("status") == "True" for body in found)
            return bool(good == len(wanted))

        wait_for("all to be Successful", reached, seconds=PATIENCE + len(wanted), every=0.5)

    def status_writes(self, audit: AuditLog) -> list[Request]:
        """What the operator wrote into the status of custom resources."""
        namespace = self.observer.namespace
        return audit.requests(
            lambda one: (
                one.is_write
                and (one.namespace, one.resource) == (namespace, STATUS)
                and one.agent.startswith(OPERATOR)
            )
        )


def each(do: Callable[[str], object], names: Iterable[str]) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(do, names))


def runs(operator: OperatorProcess) -> list[Record]:
    return list(operator.records("Reconciled"))


def wait_for_runs(operator: OperatorProcess, number: int) -> list[Record]:
    wait_for(f"{number} runs", lambda: len(runs(operator)) >= number, seconds=PATIENCE, every=0.02)
    return runs(operator)
