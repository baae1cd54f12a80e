"""A role that asks to be called again, from the outside: an operator, a real Kubernetes API, real Ansible."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from bench.observer import wait_for
from tests.fixtures.operators import Operate, Project, Things, ledger

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

PATIENCE = 90.0
POLLS = """
- name: Write down the time
  ansible.builtin.shell:
    cmd: >-
      echo '{"name": "{{ ansible_operator_meta.name }}", "at": '$(date +%s.%N)'}'
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


@pytest.fixture
def polls(project: Project) -> Project:
    project.role("polls", POLLS.replace("LEDGER", str(project / "ledger.jsonl")))
    return project


def times(project: Project, name: str) -> list[float]:
    """When the role ran for that object, in Unix time."""
    lines: list[dict[str, Any]] = ledger(project / "ledger.jsonl")
    return [line["at"] for line in lines if line["name"] == name]


def test_it_is_called_again_after_the_delay_until_it_no_longer_asks(
    polls: Project, operate: Operate, things: Things
) -> None:
    polls.watch("polls", reconcilePeriod="1h")
    operate()
    things.create("first", {"again": "2s"})
    seen: list[str] = []

    def thrice() -> bool:
        seen.append(things.condition("first", "Successful").get("status", "absent"))
        return len(times(polls, "first")) >= 3

    wait_for("three runs", thrice, seconds=PATIENCE)
    assert set(seen) <= {"absent", "False"}
    assert things.condition("first", "Running")["reason"] == "Running"
    assert all(later - earlier >= 2 for earlier, later in pairwise(times(polls, "first")))
    things.patch("first", {"spec": {"again": None}})
    things.wait("first", "Successful", seconds=PATIENCE)


def test_the_delay_takes_the_place_of_the_period(polls: Project, operate: Operate, things: Things) -> None:
    polls.watch("polls", reconcilePeriod="1s")
    operate()
    things.create("patient", {"again": "1h"})
    wait_for("its run", lambda: times(polls, "patient"), seconds=PATIENCE)
    things.create("periodic")
    wait_for("runs of another", lambda: len(times(polls, "periodic")) >= 4, seconds=PATIENCE)
    assert len(times(polls, "patient")) == 1


def test_a_run_that_fails_after_asking_says_so_and_is_called_again(
    polls: Project, operate: Operate, things: Things
) -> None:
    polls.watch("polls", reconcilePeriod="1h")
    operate()
    things.create("first", {"again": "1s", "fails": True})
    things.wait("first", "Failure", seconds=PATIENCE)
    wait_for("another run", lambda: len(times(polls, "first")) >= 2, seconds=PATIENCE)
    things.patch("first", {"spec": {"again": None, "fails": None}})
    things.wait("first", "Successful", seconds=PATIENCE)


def test_a_finalizer_stays_until_a_run_no_longer_asks(polls: Project, operate: Operate, things: Things) -> None:
    name = "test.example.com/bye"
    polls.watch("polls", finalizer={"name": name, "vars": {"leaving": "yes"}})
    operate()
    things.create("first")
    things.wait("first", "Successful", seconds=PATIENCE)
    things.patch("first", {"spec": {"again": "1s"}})
    wait_for("a run that asks", lambda: len(times(polls, "first")) >= 3, seconds=PATIENCE)
    things.delete("first")
    ran = len(times(polls, "first"))
    wait_for("runs of the finalizer", lambda: len(times(polls, "first")) >= ran + 3, seconds=PATIENCE)
    assert things.get("first")["metadata"]["finalizers"] == [name]
    things.patch("first", {"spec": {"again": None}})
    wait_for("it to be gone", lambda: not things.get("first"), seconds=PATIENCE)
