"""Two operators, one Lease: one acts; killed, frozen or stopped, it writes nothing, and the other takes over."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby
from os import kill
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from bench.observer import Observer, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from tests.fixtures.link import link
from tests.fixtures.operators import PATIENCE, Project, Things, ledger

pytestmark = pytest.mark.cluster

LEASE = "coordination.k8s.io/v1"
ELECTION = "the-operator"
SHORT = ("--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=4s")
TAKEOVER = 20.0
WRITES = {"create", "update", "patch", "delete", "deletecollection"}

WRITER = """
- name: Tell the ledger all the time that this runs, and write to the API as often
  ansible.builtin.command:
    argv: ["{{ ansible_playbook_python }}", "-c", "{{ program }}", "{{ ansible_operator_meta.namespace }}",
           "{{ seconds }}"]
  changed_when: true
  vars:
    program: |
      import json, os, sys, threading, time
      run = {"operator": os.environ["OPERATOR"], "run": os.getpid()}
      def tell():
          while True:
              with open(os.environ["LEDGER"], "a") as book:
                  book.write(json.dumps(run) + "\\n")
              time.sleep(0.05)
      threading.Thread(target=tell, daemon=True).start()
      from kubernetes import client, config
      config.load_kube_config()
      end = time.monotonic() + float(sys.argv[2])
      while time.monotonic() < end:
          client.CoreV1Api().create_namespaced_config_map(sys.argv[1], {"metadata": {"generateName": "written-"}})
          time.sleep(0.2)
"""


@dataclass
class Candidate:
    """An operator with an account of its own, so that the audit log tells whose a write was."""

    name: str
    account: str
    process: OperatorProcess

    def leads(self) -> bool:
        return any(self.process.records("Leading"))

    def signal(self, number: signal.Signals) -> None:
        kill(self.process.pid, number)

    def freeze(self) -> float:
        """Stop it in the middle of whatever it does; returns when, in Unix time, it stood still."""
        self.signal(signal.SIGSTOP)
        stat = Path(f"/proc/{self.process.pid}/stat")
        wait_for("it to stand still", lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", seconds=10)
        return time.time()


Stand = Callable[..., Candidate]


@pytest.fixture
def book(project: Project) -> Path:
    project.role("writer", WRITER)
    project.watch("writer")
    return project / "ledger.jsonl"


@pytest.fixture
def stand(
    control_plane: ControlPlane, observer: Observer, project: Project, book: Path, tmp_path: Path
) -> Iterator[Stand]:
    """Makes a candidate and starts it; with `ready` it is waited for until it leads and watches."""
    made: list[Candidate] = []

    def start(name: str, *flags: str, ready: bool = False, server: str = "") -> Candidate:
        namespace = observer.namespace
        config = _account(control_plane, observer, name, tmp_path / f"{name}.kubeconfig", server)
        process = OperatorProcess(
            project.path,
            config,
            tmp_path / name,
            "--leader-elect",
            f"--leader-election-id={ELECTION}",
            f"--leader-election-namespace={namespace}",
            "--graceful-shutdown-timeout=1s",
            *flags,
            environment={
                "WATCH_NAMESPACE": namespace,
                "ANSIBLE_GATHERING": "explicit",
                "LEDGER": str(book),
                "OPERATOR": name,
            },
        )
        candidate = Candidate(name, f"system:serviceaccount:{namespace}:{name}", process)
        made.append(candidate)
        process.start(ready=ready)
        if not ready:
            wait_for(f"{name} to stand by", lambda: any(process.records("Waiting to lead")), seconds=PATIENCE)
        return candidate

    yield start
    for candidate in made:
        try:
            candidate.signal(signal.SIGCONT)
        except ProcessLookupError:
            continue
        candidate.process.stop()


def test_kill_9_of_the_leader_with_the_default_lease(stand: Stand, things: Things, book: Path) -> None:
    first, second = stand("first", ready=True), stand("second")
    things.create("thing", {"seconds": 600})
    wait_for("the first to run it", lambda: _runs(book) == ["first"], seconds=PATIENCE)
    first.process.kill()
    took = _takeover(second)
    wait_for("the second to run it", lambda: "second" in _runs(book), seconds=PATIENCE)
    assert took < TAKEOVER
    assert _runs(book) == ["first", "second"]


def test_a_leader_that_was_frozen_writes_nothing_and_ends_and_its_run_does_not_overlap(
    stand: Stand, things: Things, book: Path, control_plane: ControlPlane
) -> None:
    first, second = stand("first", *SHORT, ready=True), stand("second", *SHORT)
    things.create("thing", {"seconds": 600})
    wait_for("the first's run to write", partial(_written, control_plane, first, "configmaps"), seconds=PATIENCE)
    frozen = first.freeze()
    took = _takeover(second)
    wait_for("the second's run to write", partial(_written, control_plane, second, "configmaps"), seconds=PATIENCE)
    first.signal(signal.SIGCONT)
    assert first.process.wait(PATIENCE) == 1
    assert took < TAKEOVER
    assert _runs(book) == ["first", "second"]
    assert [event for event in _written(control_plane, first) if event["completed"] > frozen + 0.5] == []


def test_a_leader_that_cannot_reach_the_api_ends_before_another_may_lead(
    stand: Stand, things: Things, book: Path, control_plane: ControlPlane, observer: Observer
) -> None:
    api = urlsplit(yaml.safe_load(control_plane.kubeconfig.read_text())["clusters"][0]["cluster"]["server"])
    with link(str(api.hostname), int(api.port or 443)) as between:
        first = stand("first", *SHORT, ready=True, server=f"https://127.0.0.1:{between.port}")
        second = stand("second", *SHORT)
        things.create("thing", {"seconds": 600})
        wait_for("the first to run it", lambda: _runs(book) == ["first"], seconds=PATIENCE)
        between.cut()
        assert first.process.wait(PATIENCE) == 1
        ended = time.time()
        lease = observer.get(LEASE, "Lease", ELECTION) or {}
        print(f"ended {ended - _unix(lease['spec']['renewTime']):.1f} s after its last renewal")
        assert lease["spec"]["holderIdentity"] == next(first.process.records("Leading"))["identity"]
        assert ended < _unix(lease["spec"]["renewTime"]) + lease["spec"]["leaseDurationSeconds"]
        assert _takeover(second) < TAKEOVER
        wait_for("the second to run it", lambda: "second" in _runs(book), seconds=PATIENCE)
    assert _runs(book) == ["first", "second"]


def test_a_clean_stop_hands_over_at_once(stand: Stand, things: Things, book: Path) -> None:
    first, second = stand("first", ready=True), stand("second")
    assert first.process.stop() == 0
    took = _takeover(second)
    things.create("thing", {"seconds": 0})
    things.wait("thing", "Successful")
    assert took < 5.0
    assert _runs(book) == ["second"]


def test_a_leader_whose_lease_another_holds_ends_itself_and_its_run(
    stand: Stand, things: Things, book: Path, observer: Observer
) -> None:
    first = stand("first", ready=True)
    things.create("thing", {"seconds": 600})
    wait_for("it to run", lambda: _runs(book) == ["first"], seconds=PATIENCE)
    observer.patch(LEASE, "Lease", ELECTION, {"spec": {"holderIdentity": "somebody else"}})
    assert first.process.wait(PATIENCE) == 1
    said = len(ledger(book))
    assert things.status("thing")["conditions"]
    assert len(ledger(book)) == said


def test_a_leader_whose_lease_was_deleted_goes_on(stand: Stand, things: Things, observer: Observer) -> None:
    first = stand("first", *SHORT, ready=True)
    observer.delete(LEASE, "Lease", ELECTION)
    lease = wait_for("the lease to be back", lambda: observer.get(LEASE, "Lease", ELECTION), seconds=PATIENCE)
    things.create("thing", {"seconds": 0})
    things.wait("thing", "Successful")
    assert lease["spec"]["holderIdentity"] == next(first.process.records("Leading"))["identity"]


def _takeover(candidate: Candidate) -> float:
    """Seconds until it leads."""
    began = time.monotonic()
    wait_for(f"{candidate.name} to lead", candidate.leads, seconds=PATIENCE)
    took = time.monotonic() - began
    print(f"took over after {took:.1f} s")
    return took


def _runs(book: Path) -> list[str]:
    """Whose runs there were, in order; a run that is named twice was not over when another began."""
    return [operator for (operator, _), _ in groupby((entry["operator"], entry["run"]) for entry in ledger(book))]


def _written(control_plane: ControlPlane, candidate: Candidate, resource: str = "") -> list[dict[str, Any]]:
    """What its account wrote, by the audit log."""
    found = []
    for text in control_plane.audit_log.read_text().splitlines():
        try:
            event = json.loads(text)
        except ValueError:
            continue  # it is being written
        about = event.get("objectRef", {}).get("resource", "")
        if event["user"].get("username") == candidate.account and event["verb"] in WRITES:
            completed = _unix(event["stageTimestamp"])
            found.append({"verb": event["verb"], "resource": about, "completed": completed})
    return [event for event in found if resource in ("", event["resource"])]


def _unix(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


def _account(control_plane: ControlPlane, observer: Observer, name: str, path: Path, server: str) -> Path:
    """A service account with every right in the test's namespace, and a kubeconfig for it."""
    observer.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    observer.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": observer.namespace}],
        }
    )
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    config["users"] = [
        {"name": entry["name"], "user": {"token": observer.token(name)}} for entry in config["users"]
    ]
    if server:
        config["clusters"][0]["cluster"]["server"] = server
    path.write_text(yaml.safe_dump(config))
    return path
