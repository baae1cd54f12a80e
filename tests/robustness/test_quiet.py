"""The sample operator runs once for each change of a spec, and does nothing where nothing changes.

`QUIET=600 pytest tests/robustness/test_quiet.py` watches the quiet for ten minutes instead of some seconds.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench import accounting
from bench.observer import Object, Observer, condition, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from tests.fixtures.watcher import unix

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800), pytest.mark.xdist_group("quiet")]

QUIET = float(os.environ.get("QUIET", "15"))
BUILD = 6
"""Runs at most that follow the Job and the rollout of a CIBuild: each begins, gets on, and ends."""
SETTLED = 4.0
"""Seconds without a run after which none is under way or waiting."""
ROOT = Path(__file__).parents[2]
GROUP = "sample.example.com/v1alpha1"
SPECS: dict[str, tuple[Object, Object]] = {
    "Memcached": ({"size": 1}, {"size": 3}),
    "HelloApp": ({"image": "nginx:1.29", "size": 1}, {"image": "nginx:1.30"}),
    "PodSet": ({"replicas": 1}, {"replicas": 3}),
    "CIBuild": (
        {
            "repository": "https://git.example.com/a.git",
            "revision": "main",
            "image": "registry.example.com/a:1",
            "deploy": True,
            "credentialsSecret": "registry-login",
        },
        {"revision": "next"},
    ),
}


@dataclass(frozen=True)
class Quiet:
    """The sample operator, without periods, and one custom resource of each kind that it has seen to."""

    observer: Observer
    operator: OperatorProcess
    audit_log: Path

    def runs(self) -> list[tuple[str, str]]:
        """Kind and name of every run so far."""
        return [(record["kind"], record["name"]) for record in self.operator.records("Reconciled")]

    def caused_by_a_spec(self) -> list[tuple[str, str]]:
        """Those that a change of a spec led to; others follow how a build gets on."""
        records = self.operator.records("Reconciled")
        return [(record["kind"], record["name"]) for record in records if "changed" in record["triggers"]]

    def settle(self) -> None:
        """Wait until no run has ended for a while."""

        def settled() -> bool:
            last = max(unix(record["ts"]) for record in self.operator.records("Reconciled"))
            return time.time() - last > SETTLED

        wait_for("the operator to settle", settled, seconds=120)

    def writes(self, offset: int) -> list[tuple[str, str]]:
        """Verb and address of what was written into the namespace since, other than by Kubernetes itself."""
        with self.audit_log.open("rb") as log:
            log.seek(offset)
            events = [json.loads(line) for line in log.read().decode().split("\n")[:-1]]
        return [(event["verb"], event["requestURI"]) for event in events if self._is_write(event)]

    def _is_write(self, event: dict[str, Any]) -> bool:
        mine = event.get("objectRef", {}).get("namespace") == self.observer.namespace
        kubernetes = event.get("userAgent", "").startswith(("kube-", "kwok"))
        return mine and not kubernetes and event["verb"] in ("create", "update", "patch", "delete")


@pytest.fixture(scope="module")
def quiet(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quiet]:
    observer = Observer(control_plane.kubeconfig, "quiet")
    observer.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "quiet"}})
    observer.apply(ROOT / "crds")
    observer.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "registry-login"}})
    work = tmp_path_factory.mktemp("quiet")
    environment = {"WATCH_NAMESPACE": "quiet"}
    with OperatorProcess(
        without_periods(work / "project"), control_plane.kubeconfig, work, environment=environment
    ) as operator:
        for kind, (spec, _) in SPECS.items():
            observer.create({"apiVersion": GROUP, "kind": kind, "metadata": {"name": kind.lower()}, "spec": spec})
        for kind in SPECS:
            successful(observer, kind)
        yield Quiet(observer, operator, control_plane.audit_log)
    observer.close()


def without_periods(project: Path) -> Path:
    for name in ("roles", "playbooks"):
        shutil.copytree(ROOT / name, project / name)
    watches = yaml.safe_load((ROOT / "watches.yaml").read_text())
    text = yaml.safe_dump([{**watch, "reconcilePeriod": "-1s"} for watch in watches])
    (project / "watches.yaml").write_text(text)
    return project


def successful(observer: Observer, kind: str) -> None:
    def reached() -> bool:
        body = observer.get(GROUP, kind, kind.lower()) or {}
        found = condition(body, "Successful")
        return found.get("status") == "True" and found["observedGeneration"] == body["metadata"]["generation"]

    wait_for(f"{kind} to be Successful", reached, seconds=90)


@pytest.mark.parametrize("kind", SPECS)
def test_one_change_of_a_spec_leads_to_one_run(quiet: Quiet, kind: str) -> None:
    quiet.settle()
    before, runs = len(quiet.caused_by_a_spec()), len(quiet.runs())

    quiet.observer.patch(GROUP, kind, kind.lower(), {"spec": SPECS[kind][1]})
    successful(quiet.observer, kind)
    quiet.settle()

    assert quiet.caused_by_a_spec()[before:] == [(kind, kind.lower())]
    following = len(quiet.runs()) - runs - 1
    assert following <= (BUILD if kind == "CIBuild" else 0)


def test_nothing_is_run_or_written_and_hardly_any_time_is_used_while_nothing_changes(quiet: Quiet) -> None:
    quiet.settle()
    runs, offset = quiet.runs(), quiet.audit_log.stat().st_size
    cpu, began = accounting.cpu_seconds(quiet.operator.pid), time.monotonic()

    wait_for("the quiet to last", lambda: time.monotonic() - began > QUIET, seconds=QUIET + 10, every=1.0)

    assert quiet.runs() == runs
    assert quiet.writes(offset) == []
    assert (accounting.cpu_seconds(quiet.operator.pid) - cpu) / QUIET < 0.01
