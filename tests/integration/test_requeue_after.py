"""A role that asks to be called again, from the outside: an operator, a real Kubernetes API, real Ansible."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from bench.observer import wait_for
from tests.fixtures.operators import Project, Share, SharedOperator, Things, ledger

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400), pytest.mark.xdist_group("requeue_after")]

PATIENCE = 90.0
POLLS = """
- name: Write down the time
  ansible.builtin.shell:
    cmd: >-
      echo '{"key": "{{ ansible_operator_meta.namespace }}/{{ ansible_operator_meta.name }}",
      "at": '$(date +%s.%N)'}'
      >> LEDGER
  changed_when: true
- name: Ask to be called again
  operator_sdk.util.requeue_after:
    time: "{{ again }}"
  when: again is defined
- name: Fail after asking
  ansible.builtin.fail:
    msg: not yet
  when: fails is defined
- name: Write down the end
  ansible.builtin.debug:
    msg: the run goes on
"""


FINALIZER = "test.example.com/bye"


def write(project: Project) -> None:
    """The same role for kinds with a long period, a short one, and a finalizer."""
    project.role("polls", POLLS.replace("LEDGER", str(project / "ledger.jsonl")))
    project.watch("polls", "Poll", reconcilePeriod="1h")
    project.watch("polls", "ShortPoll", reconcilePeriod="1s")
    project.watch("polls", "LastPoll", finalizer={"name": FINALIZER, "vars": {"leaving": "yes"}})


@pytest.fixture(scope="module")
def shared(share: Share) -> SharedOperator:
    return share(write)


Times = Callable[[str], list[float]]


@pytest.fixture
def times(shared: SharedOperator, namespace: str) -> Times:
    """Gives when the role ran for the object of that name, in Unix time."""

    def read(name: str) -> list[float]:
        lines: list[dict[str, Any]] = ledger(shared.project / "ledger.jsonl")
        return [line["at"] for line in lines if line["key"] == f"{namespace}/{name}"]

    return read


def test_it_is_called_again_after_the_delay_until_it_no_longer_asks(times: Times, things: Things) -> None:
    things = things.of("Poll")
    things.create("first", {"again": "1s"})
    seen: list[str] = []

    def thrice() -> bool:
        seen.append(things.condition("first", "Successful").get("status", "absent"))
        return len(times("first")) >= 3

    wait_for("three runs", thrice, seconds=PATIENCE)
    assert set(seen) <= {"absent", "False"}
    assert things.condition("first", "Running")["reason"] == "Running"
    assert things.condition("first", "Failure").get("status", "False") == "False"
    assert all(later - earlier >= 1 for earlier, later in pairwise(times("first")))
    things.patch("first", {"spec": {"again": None}})
    things.wait("first", "Successful", seconds=PATIENCE)


def test_the_delay_takes_the_place_of_the_period(times: Times, things: Things) -> None:
    things = things.of("ShortPoll")
    things.create("patient", {"again": "1h"})
    wait_for("its run", lambda: times("patient"), seconds=PATIENCE)
    things.create("periodic")
    wait_for("runs of another", lambda: len(times("periodic")) >= 4, seconds=PATIENCE)
    assert len(times("patient")) == 1


def test_a_run_that_fails_after_asking_says_so_and_is_called_again(times: Times, things: Things) -> None:
    things = things.of("Poll")
    things.create("first", {"again": "1s", "fails": True})
    things.wait("first", "Failure", seconds=PATIENCE)
    wait_for("another run", lambda: len(times("first")) >= 2, seconds=PATIENCE)
    things.patch("first", {"spec": {"again": None, "fails": None}})
    things.wait("first", "Successful", seconds=PATIENCE)


def test_a_finalizer_stays_until_a_run_no_longer_asks(times: Times, things: Things) -> None:
    things = things.of("LastPoll")
    things.create("first")
    things.wait("first", "Successful", seconds=PATIENCE)
    things.patch("first", {"spec": {"again": "1s"}})
    wait_for("a run that asks", lambda: len(times("first")) >= 3, seconds=PATIENCE)
    things.delete("first")
    ran = len(times("first"))
    wait_for("runs of the finalizer", lambda: len(times("first")) >= ran + 3, seconds=PATIENCE)
    assert things.get("first")["metadata"]["finalizers"] == [FINALIZER]
    assert things.condition("first", "Failure").get("status", "False") == "False"
    things.patch("first", {"spec": {"again": None}})
    wait_for("it to be gone", lambda: not things.get("first"), seconds=PATIENCE)
