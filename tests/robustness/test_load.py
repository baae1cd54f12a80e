"""Much at once: objects, events of children, periods that are over. What is urgent is not kept waiting."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, chain
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bench.observer import Object, wait_for
from bench.operator import OperatorProcess
from runner.config.flags import available_processors
from runner.dev.controlplane import ControlPlane
from tests.fixtures.gateway import Call, administrator, gateway
from tests.fixtures.invariants import Run
from tests.fixtures.operators import GROUP, PATIENCE, Operate, Project, Things
from tests.fixtures.watcher import ALL, Watcher, watched

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

FEW, MANY = 60, 10_000
EVENTS = 100_000 if ALL else 10_000
MINUTE = 60.0
PERIOD = 5
MEBI = 1 << 20
SOON = 20.0
"""Seconds, on a machine that has other things to do."""
EACH = 8 << 10
"""Bytes of memory for each custom resource that waits."""


@pytest.mark.parametrize("count", [FEW, MANY] if ALL else [FEW])
def test_what_is_changed_or_created_overtakes_all_that_wait_for_their_first_run(
    control_plane: ControlPlane, operate: Operate, project: Project, things: Things, namespace: str, count: int
) -> None:
    project.role("brief", "- ansible.builtin.debug: {msg: done}\n")
    project.watch("brief", kind="Gadget")
    create_many(control_plane, namespace, count)
    began = time.monotonic()
    operator = operate()
    ready = time.monotonic() - began
    began = time.monotonic()
    changed = f"waits-{count - 1}"
    things.patch(changed, {"spec": {"text": "changed"}}, kind="Gadget")
    things.create("urgent", kind="Gadget")
    for name in (changed, "urgent"):
        things.wait(name, "Successful", kind="Gadget")
    took, before = time.monotonic() - began, len(done(operator))

    print(f"ready in {ready:.1f} s; {took:.1f} s, {before} of {count} before; {operator.memory() / MEBI:.0f} MiB")
    assert took < SOON
    assert before < count
    assert done(operator).count(changed) == 1
    assert operator.memory() < 80 * MEBI + count * EACH
    if count == FEW:
        wait_for("all to be run", lambda: len(done(operator)) == count + 1, seconds=3 * PATIENCE)
    assert operator.stop() == 0
    assert len(set(done(operator))) == len(done(operator))


def create_many(plane: ControlPlane, namespace: str, count: int) -> None:
    """By bare connections: a client that is more than that takes a minute and more."""
    url, context = administrator(plane.kubeconfig)
    address, path = urlsplit(url), f"/apis/{GROUP}/namespaces/{namespace}/gadgets"

    def create(numbers: Iterable[int]) -> None:
        connection = http.client.HTTPSConnection(str(address.hostname), address.port, context=context)
        for number in numbers:
            body = {"apiVersion": GROUP, "kind": "Gadget", "metadata": {"name": f"waits-{number}"}, "spec": {}}
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            assert answer.status == 201, answer.read()
            answer.read()
        connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create, [range(first, count, 4) for first in range(4)]))


def done(operator: OperatorProcess) -> list[str]:
    return [record["name"] for record in operator.records("Reconciled")]


@pytest.mark.parametrize("part", ["status", "content"])
def test_a_flood_of_events_of_children_starts_no_run_without_a_reason_and_keeps_nothing_waiting(
    operate: Operate,
    things: Things,
    watcher: Watcher,
    book: Path,
    control_plane: ControlPlane,
    tmp_path: Path,
    part: str,
) -> None:
    """A status is no content; changes of content are run, many by one run."""
    flood = Flood(part)
    with gateway(control_plane) as between:
        between.lines = flood.lines
        operator = operate("--zap-log-level=debug", kubeconfig=between.login(tmp_path / "login"), LEDGER=str(book))
        for name in ("one", "other"):
            things.create(name, {"text": "a"})
            things.wait(name, "Successful")
        wait_for("its child to be watched", lambda: watched_kinds(between.calls), seconds=PATIENCE)
        before, memory = len(watcher.runs()), operator.memory()
        things.observer.patch("v1", "ConfigMap", "one", {"metadata": {"annotations": {"flood": "yes"}}})
        assert flood.begun.wait(PATIENCE)
        began = time.monotonic()
        things.patch("other", {"spec": {"text": "b"}})
        things.wait("other", "Successful")
        took = time.monotonic() - began
        assert flood.over.wait(2 * MINUTE)
        lasted = time.monotonic() - began
        watcher.rests()
        runs = [run for run in watcher.runs()[before:] if run.uid == uid(things, "one")]

        size = operator.memory()
        print(f"{took:.1f} s; {EVENTS} events in {lasted:.1f} s; {len(runs)} runs; {size / MEBI:.0f} MiB")
        assert took < SOON
        assert lasted < MINUTE * EVENTS / 100_000 + SOON
        assert len(runs) == 1 if part == "status" else 1 < len(runs) <= 10 * lasted  # one is for the annotation
        assert size < memory + 60 * MEBI
        assert watcher.problems([operator]) == []
        assert watcher.stirred(3) == []


class Flood:
    """One event of a child that is annotated becomes many, each of a version that follows."""

    def __init__(self, part: str) -> None:
        self.begun, self.over = threading.Event(), threading.Event()
        self._part = part

    def lines(self, call: Call, line: bytes) -> Iterable[bytes]:
        if "/configmaps" not in call.path or b'"flood"' not in line or self.begun.is_set():
            return (line,)
        self.begun.set()
        return chain([line], self._many(json.loads(line)))

    def _many(self, event: Object) -> Iterator[bytes]:
        """In the end the child is as it is; versions in between are no numbers, as what follows has the next."""
        last, meta = json.dumps(event).encode(), event["object"]["metadata"]
        entry = {"manager": "flood", "operation": "Update", "apiVersion": "v1", "time": "NUMBER"}
        meta["managedFields"].append(entry | ({"subresource": "status"} if self._part == "status" else {}))
        meta["resourceVersion"] += "-NUMBER"
        parts = json.dumps(event).encode().split(b"NUMBER")
        for number in range(EVENTS):
            yield str(number).encode().join(parts) + b"\n"
        yield last + b"\n"
        self.over.set()


def watched_kinds(calls: Iterable[Call]) -> bool:
    return any(call.verb == "watch" and "/configmaps" in call.path for call in list(calls))


def uid(things: Things, name: str) -> str:
    return str(things.get(name)["metadata"]["uid"])


@pytest.mark.parametrize("how", ["frozen", "restarted"] if ALL else ["restarted"])
def test_periods_that_are_all_over_at_once_lead_to_a_run_each_and_no_more_at_a_time_than_may_be(
    operate: Operate, project: Project, things: Things, watcher: Watcher, book: Path, how: str
) -> None:
    (project / "watches.yaml").unlink()
    watched(project, reconcilePeriod=f"{PERIOD}s")
    operator = operate("--zap-log-level=debug", LEDGER=str(book))
    names = [f"thing-{number}" for number in range(6)]
    for name in names:
        things.create(name, {"seconds": 0.2})
    for name in names:
        things.wait(name, "Successful")
    if how == "frozen":
        os.kill(operator.pid, signal.SIGSTOP)
    else:
        operator.stop()
    last = max(run.last for run in watcher.runs())
    wait_for("every period to be over", lambda: time.time() > last + PERIOD, seconds=2 * PERIOD)
    before = len(watcher.runs())
    if how == "frozen":
        os.kill(operator.pid, signal.SIGCONT)
    else:
        operator.start()
    wait_for("a run of each", lambda: ended(watcher, before) == len(names), seconds=PATIENCE)
    operator.stop()

    assert side_by_side(watcher.runs()) <= available_processors()
    assert watcher.problems([operator]) == []


def ended(watcher: Watcher, before: int) -> int:
    """Objects of which one of the later runs has ended."""
    return len({run.uid for run in watcher.runs()[before:] if run.ended})


def side_by_side(runs: Iterable[Run]) -> int:
    """The most that were under way at a time."""
    turns = sorted(turn for run in runs for turn in ((run.began, 1), (run.last, -1)))
    return max(accumulate(by for _, by in turns))
