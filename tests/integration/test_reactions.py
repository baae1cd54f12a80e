"""Custom resources react to what they refer to, and to values of their dependents: one operator, a real API."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable

import pytest

from bench.observer import Object, Observer, wait_for
from tests.fixtures.operators import PATIENCE, Project, Share, SharedOperator, Things

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("reactions")]

OK = """
- name: Say something
  ansible.builtin.debug:
    msg: hello
"""
GADGET_GROUP = "test.example.com/v1"
GADGET = """
- name: Keep a Gadget
  kubernetes.core.k8s:
    definition:
      apiVersion: test.example.com/v1
      kind: Gadget
      metadata:
        name: "{{ ansible_operator_meta.name }}"
        namespace: "{{ ansible_operator_meta.namespace }}"
      spec: {}
"""
SECRET = {"apiVersion": "v1", "kind": "Secret"}


def write(project: Project) -> None:
    """A kind for each way to react."""
    project.role("ok", OK)
    project.watch("ok", "Naming", references=[{**SECRET, "names": "spec.secrets"}])
    selector = {"matchLabels": {"app": "ours"}}
    project.watch("ok", "Selecting", references=[{"apiVersion": "v1", "kind": "ConfigMap", "selector": selector}])
    project.role("keeper", GADGET)
    done = {"apiVersion": GADGET_GROUP, "kind": "Gadget", "reconcileOn": "status.done"}
    project.watch("keeper", "Guarding", dependents=[done])
    project.watch("keeper", "Showing", status={"ready": "children[0].status.ready", "ran": "stats.ok"})


@pytest.fixture(scope="module")
def shared(share: Share) -> SharedOperator:
    return share(write)


Runs = Callable[[], list[str]]


@pytest.fixture
def runs(shared: SharedOperator, namespace: str) -> Runs:
    """Gives whose runs there were, sorted."""
    return lambda: sorted(record["name"] for record in shared.reconciles(namespace))


def secret(observer: Observer, name: str, value: str = "x", **labels: str) -> None:
    observer.create({**SECRET, "metadata": {"name": name, "labels": labels}, "data": {"key": encoded(value)}})


def encoded(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


def wait_for_runs(runs: Runs, number: int) -> list[str]:
    return wait_for(f"{number} runs", lambda: _at_least(runs(), number), seconds=PATIENCE, every=0.02)


def _at_least(names: list[str], number: int) -> list[str] | None:
    return names if len(names) >= number else None


def test_a_change_of_a_named_object_runs_exactly_those_that_name_it(
    runs: Runs, things: Things, observer: Observer
) -> None:
    things = things.of("Naming")
    secret(observer, "creds")
    for name, secrets in (("a", "creds"), ("b", ["creds", "later"]), ("c", "other"), ("d", None)):
        things.create(name, {"secrets": secrets})
    before = wait_for_runs(runs, 4)
    observer.patch("v1", "Secret", "creds", {"data": {"key": encoded("y")}})
    wait_for_runs(runs, 6)
    secret(observer, "later")  # named before it is there
    wait_for_runs(runs, 7)
    observer.delete("v1", "Secret", "creds")
    after = wait_for_runs(runs, 9)
    things.patch("a", {"spec": {"secrets": "other"}})
    wait_for_runs(runs, 10)
    secret(observer, "other")
    final = wait_for_runs(runs, 12)
    assert before == ["a", "b", "c", "d"]
    assert after == sorted([*"abcd", *"ab", *"b", *"ab"])
    assert final == sorted([*after, "a", "a", "c"])


def test_an_object_with_a_label_concerns_all_of_its_namespace(
    runs: Runs, things: Things, observer: Observer
) -> None:
    things = things.of("Selecting")
    for name in "ab":
        things.create(name)
    wait_for_runs(runs, 2)
    observer.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    observer.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "y", "labels": {"app": "ours"}}}
    )
    assert wait_for_runs(runs, 4) == ["a", "a", "b", "b"]


@pytest.mark.usefixtures("shared")
def test_an_expression_that_yields_no_name_is_a_warning_event(things: Things, observer: Observer) -> None:
    things = things.of("Naming")
    things.create("a", {"secrets": 7})
    things.wait("a", "Successful")
    events = wait_for("the Event", lambda: _events(observer, "UnusableReference"), seconds=PATIENCE)
    assert [event["message"] for event in events] == [
        "Secret by spec.secrets: is no name, no list of names, nor of {name, namespace}"
    ]


def test_a_value_of_a_dependent_that_changes_runs_its_owner_and_no_other_status_does(
    runs: Runs, things: Things, observer: Observer
) -> None:
    things = things.of("Guarding")
    things.create("a")
    wait_for_runs(runs, 1)
    observer.patch_status(GADGET_GROUP, "Gadget", "a", {"progress": 1})
    observer.patch_status(GADGET_GROUP, "Gadget", "a", {"progress": 2})
    observer.patch_status(GADGET_GROUP, "Gadget", "a", {"done": "yes"})
    wait_for_runs(runs, 2)
    observer.patch_status(GADGET_GROUP, "Gadget", "a", {"progress": 3})
    observer.patch_status(GADGET_GROUP, "Gadget", "a", {"done": "no"})
    assert wait_for_runs(runs, 3) == ["a", "a", "a"]


def _events(observer: Observer, reason: str) -> list[Object] | None:
    events = [event for event in observer.list("v1", "Event") if event["reason"] == reason]
    return events or None


def test_status_follows_a_dependent_within_a_second_without_a_run(
    runs: Runs, things: Things, observer: Observer
) -> None:
    things = things.of("Showing")
    things.create("a")
    things.wait("a", "Successful")
    before = things.condition("a", "Successful")
    seconds = []
    for ready in (1, 2, 3):
        began = time.monotonic()
        observer.patch_status(GADGET_GROUP, "Gadget", "a", {"ready": ready})
        wait_for("the status", lambda: things.status("a").get("ready") == ready, seconds=5, every=0.02)  # noqa: B023
        seconds.append(time.monotonic() - began)
    assert max(seconds) < 2  # one, and a busy machine
    assert runs() == ["a"]
    assert things.condition("a", "Successful") == before
