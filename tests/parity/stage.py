"""Where a batch takes place: a project, an API group and a namespace of its own, and operators on them."""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar

from tests.parity.cluster import Cluster, History, Object
from tests.parity.operator import Operator

Answer = TypeVar("Answer")
RUNNER_DIR = Path("/tmp/ansible-operator/runner")
PROBE = Path(__file__).with_name("content") / "probe.py"
PATIENCE = 90.0
CUT_SHORT = 5.0
"""Seconds for a wait, and for each one after two were in vain: something is badly wrong then."""


class Stage:
    """`group` is served as `v1`; kinds made by `kinds` take any spec and status."""

    def __init__(
        self, name: str, cluster: Cluster, kubeconfig: Path, work: Path, command: tuple[str, ...]
    ) -> None:
        self.group = f"{name}.parity.example.com"
        self.suffix = uuid.uuid4().hex[:8]
        self.namespace = f"parity-{name}-{self.suffix}"
        self.cluster, self.kubeconfig, self.work, self.command = cluster, kubeconfig, work, command
        self.project = work / "project"
        self.project.mkdir(parents=True)
        self.vain: list[str] = []
        self._ledger = work / "ledger.jsonl"
        self._clustered: set[str] = set()
        self._operators = 0
        self.make_namespace(self.namespace)

    def close(self) -> None:
        self.cluster.call("DELETE", f"/api/v1/namespaces/{self.namespace}")
        for place in (
            *RUNNER_DIR.glob(f"{self.group}/*/*/{self.namespace}*"),
            *RUNNER_DIR.glob(f"{self.group}/*/*/*-{self.suffix}"),
        ):
            shutil.rmtree(place, ignore_errors=True)

    # The project

    def write(self, path: str, text: str) -> Path:
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
        return file

    def role(self, name: str, tasks: str) -> Path:
        return self.write(f"roles/{name}/tasks/main.yml", tasks).parent.parent

    # The cluster

    def make_namespace(self, name: str) -> None:
        self.cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def kinds(self, *names: str, scope: str = "Namespaced", status: bool = True, group: str = "") -> None:
        """Serve kinds; returns once the API server has them all."""
        group = group or self.group
        for kind in names:
            if scope == "Cluster":
                self._clustered.add(kind)
            self.cluster.call(
                "POST",
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                definition(group, kind, scope, status=status),
            )
        served = {f"{kind.lower()}s" for kind in names}
        self.wait(f"{served} to be served", lambda: served <= self._served(group))

    def path(self, kind: str, name: str = "", *, sub: str = "", namespace: str = "") -> str:
        where = "" if kind in self._clustered else f"/namespaces/{namespace or self.namespace}"
        parts = [f"/apis/{self.group}/v1{where}/{kind.lower()}s", *filter(None, (name, sub))]
        return "/".join(parts)

    def create(self, kind: str, name: str, spec: object = None, *, namespace: str = "", **metadata: Any) -> Object:
        body: Object = {"apiVersion": f"{self.group}/v1", "kind": kind, "metadata": {"name": name, **metadata}}
        if spec is not None:
            body["spec"] = spec
        _, answer = self.cluster.call("POST", self.path(kind, namespace=namespace), body)
        return dict(answer)

    def get(self, kind: str, name: str, *, namespace: str = "") -> Object:
        """The object, or an empty one when there is none."""
        status, answer = self.cluster.call("GET", self.path(kind, name, namespace=namespace))
        return dict(answer) if status == 200 else {}

    def patch(self, kind: str, name: str, change: object, *, sub: str = "") -> int:
        return self.cluster.call("PATCH", self.path(kind, name, sub=sub), change)[0]

    def delete(self, kind: str, name: str) -> None:
        self.cluster.call("DELETE", self.path(kind, name))

    def history(self, kind: str) -> History:
        return History(self.cluster, self.path(kind))

    def has(self, kind: str, name: str, type_: str, status: str = "True") -> bool:
        """Whether the object has that condition with that status."""
        return conditions(self.get(kind, name)).get(type_, {}).get("status") == status

    def succeeded(self, kind: str, *names: str) -> None:
        """Wait until each is Successful."""
        for name in names:
            self.wait(f"{name} to succeed", partial(self.has, kind, name, "Successful"))

    def failed(self, kind: str, *names: str) -> None:
        """Wait until each has its Failure."""
        for name in names:
            self.wait(f"{name} to fail", partial(self.has, kind, name, "Failure"))

    def run_directory(self, kind: str, name: str, version: str = "v1") -> Path:
        where = (
            (self.group, version, kind, name)
            if kind in self._clustered
            else (self.group, version, kind, self.namespace, name)
        )
        return RUNNER_DIR.joinpath(*where)

    def _served(self, group: str) -> set[str]:
        status, answer = self.cluster.call("GET", f"/apis/{group}/v1")
        return {item["name"] for item in answer["resources"]} if status == 200 else set()

    # What happens

    @contextmanager
    def operator(
        self, *flags: str, watches: str = "", wait: bool = True, environment: Mapping[str, str] | None = None
    ) -> Iterator[Operator]:
        """An operator, ready unless told not to wait; it is told to stop at the end. Its watches know $GROUP."""
        if watches:
            self.write("watches.yaml", watches)
        self._operators += 1
        base = {
            "GROUP": self.group,
            "KUBECONFIG": str(self.kubeconfig),
            "PARITY_LEDGER": str(self._ledger),
            "PARITY_PROBE": str(PROBE),
            "ANSIBLE_GATHERING": "explicit",
        }
        merged = {name: value for name, value in {**base, **(environment or {})}.items() if value != ABSENT}
        work = self.work / f"operator-{self._operators}"
        operator = Operator(self.command, self.project, work, flags, merged)
        try:
            if wait:
                self.wait("the operator to be ready", operator.is_ready)
            if not operator.alive:
                self.vain.append(f"the operator ended: {operator.stderr()[-2000:]}")
            yield operator
        finally:
            operator.stop()

    def wait(self, what: str, condition: Callable[[], Answer | None], seconds: float = PATIENCE) -> Answer | None:
        """The first true answer; None, and a note in `vain`, when there is none in time."""
        answer = self.comes(condition, seconds if len(self.vain) < 2 else CUT_SHORT)
        if not answer:
            self.vain.append(what)
        return answer

    @staticmethod
    def comes(condition: Callable[[], Answer | None], seconds: float) -> Answer | None:
        """The first true answer, if there is one in time."""
        end = time.monotonic() + seconds
        while not (answer := condition()) and time.monotonic() < end:
            time.sleep(0.05)
        return answer or None

    def told(self, name: str, what: str = "") -> list[dict[str, Any]]:
        """What the probe told in the runs of that object, in order."""
        if not self._ledger.exists():
            return []
        whole, _, _being_written = self._ledger.read_text().rpartition("\n")
        entries = [json.loads(line) for line in whole.split("\n") if line]
        return [entry for entry in entries if entry["name"] == name and what in ("", entry["what"])]

    def ran(self, name: str, times: int = 1) -> bool:
        """Wait until the object's role has run so often."""
        return bool(self.wait(f"{name} to run {times} times", lambda: len(self.told(name)) >= times))


ABSENT = "\0"
"""As a variable's value: the operator does not get the variable."""


def conditions(body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The conditions of an object by their type."""
    found = (body.get("status") or {}).get("conditions")
    items = found if isinstance(found, list) else []
    return {item["type"]: item for item in items if isinstance(item, dict)}


def definition(group: str, kind: str, scope: str, *, status: bool) -> Object:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
        "subresources": {"status": {}} if status else {},
    }
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": {"kind": kind, "plural": plural}, "versions": [version]},
    }
