"""Whatever a custom resource holds: it arrives as it is, or a clear word says why not, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.observer import Observer, wait_for
from tests.fixtures.operators import PATIENCE, Project, Share, SharedOperator, Things

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("input")]

SHOW = """
- name: Write down what arrived
  ansible.builtin.copy:
    content: "{{ vars['_test_example_com_KIND_spec'] | to_json }}"
    dest: "SEEN/{{ ansible_operator_meta.namespace }}-{{ ansible_operator_meta.name[:40] }}.json"
    mode: "0600"
"""
USE = """
- name: Use it
  ansible.builtin.command: echo {{ text | quote }}
- name: Show it
  ansible.builtin.debug: {msg: '{{ text }}'}
"""
PICK = """
- name: Take the one that was in snake case already
  ansible.builtin.assert:
    that: my_key == 'snake'
"""
LOUD = """
- name: Say a lot
  ansible.builtin.debug:
    msg: "{{ 'päivää 🙂 ' * 200000 }}"
"""


def write(project: Project) -> None:
    """A kind for each role."""
    for kind, unsafe in (("Shown", False), ("ShownUnsafe", True)):
        role = kind.lower()
        project.role(role, SHOW.replace("KIND", role).replace("SEEN", str(project.path)))
        project.watch(role, kind, markUnsafe=unsafe)
    project.role("use", USE)
    project.watch("use", "Used", markUnsafe=True)
    project.role("pick", PICK)
    project.watch("pick", "Picked")
    project.role("loud", LOUD)
    project.watch("loud", "Loud")
    project.role("broken", "- name: Unfinished\n  ansible.builtin.debug: {msg: [}\n")
    project.watch("broken", "Broken")


@pytest.fixture(scope="module")
def shared(share: Share) -> SharedOperator:
    return share(write)


Seen = Callable[[str], Any]


@pytest.fixture
def seen(shared: SharedOperator, namespace: str) -> Seen:
    """Gives the spec that arrived in the run of that name; None if there was no run."""

    def read(name: str) -> Any:
        file = shared.project / f"{namespace}-{name[:40]}.json"
        return json.loads(file.read_text()) if file.exists() else None

    return read


@pytest.mark.parametrize("name", ["a", "with.dots.in.it", "x" * 253], ids=["short", "dots", "253 characters"])
def test_any_name_that_kubernetes_allows_is_reconciled(seen: Seen, things: Things, name: str) -> None:
    things = things.of("Shown")
    things.create(name, {"text": "here"})
    things.wait(name, "Successful")
    assert seen(name) == {"text": "here"}


def test_jinja_in_a_spec_is_never_evaluated_when_marked_unsafe(seen: Seen, things: Things) -> None:
    spec = {"text": "{{ 6 * 7 }}", "list": ["{% raw %}", {"deep": "{{ lookup('env', 'HOME') }}"}]}
    things = things.of("ShownUnsafe")
    things.create("first", spec)
    things.wait("first", "Successful")
    assert seen("first") == spec


@pytest.mark.usefixtures("shared")
def test_a_resource_that_would_steer_ansible_runs_as_any_other_with_a_warning_event(
    things: Things, observer: Observer, tmp_path: Path
) -> None:
    planter = tmp_path / "planter"
    planter.write_text(f"#!/bin/sh\ntouch {tmp_path}/planted\n")
    planter.chmod(0o755)
    spec = {
        "text": f"{{{{ lookup('pipe', '{planter}') }}}}",
        "ansiblePythonInterpreter": str(planter),
        "ansibleShellExecutable": str(planter),
        "disarm": {"__ansible_vault": 5},
    }
    things = things.of("Used")
    things.create("first", spec)
    things.wait("first", "Successful")
    assert not (tmp_path / "planted").exists()
    message = wait_for("a warning Event", lambda: _warning(observer), seconds=PATIENCE)
    assert "left out" in message


def test_null_and_nested_values_arrive_as_they_are(seen: Seen, things: Things) -> None:
    spec = {"nested": [[1, [2, {"a": [True, 1.5, None]}]], []], "number": 3, "text": "ünï\u2028cödé 🙂\n\ttab"}
    things = things.of("Shown")
    things.create("first", spec)
    things.wait("first", "Successful")
    assert seen("first") == spec


@pytest.mark.usefixtures("shared")
def test_keys_that_collide_in_snake_case_are_warned_about_and_the_snake_one_wins(
    things: Things, observer: Observer
) -> None:
    things = things.of("Picked")
    things.create("first", {"myKey": "camel", "my_key": "snake"})
    things.wait("first", "Successful")
    message = wait_for("a warning Event", lambda: _warning(observer), seconds=PATIENCE)
    assert "myKey" in message
    assert "my_key" in message


def test_a_bad_period_annotation_is_a_failure_that_says_so_and_runs_nothing(seen: Seen, things: Things) -> None:
    things = things.of("Shown")
    things.create("first", annotations={"ansible.sdk.operatorframework.io/reconcile-period": "soon"})
    things.wait("first", "Failure")
    expected = 'Unable to parse reconcile period annotation: time: invalid duration "soon"'
    assert things.condition("first", "Failure")["message"] == expected
    assert seen("first") is None


def test_annotations_that_ask_for_too_much_get_what_is_allowed_and_a_warning_each(
    shared: SharedOperator, things: Things, observer: Observer, namespace: str
) -> None:
    prefix = "ansible.sdk.operatorframework.io/"
    greedy = {"verbosity": "150000000", "reconcile-period": "1ns", "max-runner-artifacts": "0"}
    things = things.of("Shown")
    things.create("first", annotations={prefix + name: value for name, value in greedy.items()})
    things.wait("first", "Successful")
    (command,) = shared.process.runner_dir.rglob(f"{namespace}/first/artifacts/latest/command")
    assert "-vvvvvvv" in json.loads(command.read_text())["command"]
    warned = wait_for("its Events", lambda: _warnings(observer, 3), seconds=PATIENCE)
    assert sorted(warned) == [
        f"annotation {prefix}max-runner-artifacts: '0' is more than may be kept; using 100",
        f"annotation {prefix}reconcile-period: '1ns' is too short; using 10s",
        f"annotation {prefix}verbosity: '150000000' is not in 0 to 7; using 7",
    ]
    assert len(shared.reconciles(namespace)) == 1


@pytest.mark.usefixtures("shared")
def test_a_role_that_says_megabytes_in_any_script_succeeds(things: Things) -> None:
    things = things.of("Loud")
    things.create("first")
    things.wait("first", "Successful")


@pytest.mark.usefixtures("shared")
def test_a_syntax_error_in_a_role_is_a_failure_that_shows_ansibles_words(things: Things) -> None:
    things = things.of("Broken")
    things.create("first")
    things.wait("first", "Failure")
    message = things.condition("first", "Failure")["message"]
    assert "roles/broken/tasks/main.yml" in message


def _warning(observer: Observer) -> str:
    warnings = [event["message"] for event in observer.list("v1", "Event") if event["type"] == "Warning"]
    return str(warnings[0]) if warnings else ""


def _warnings(observer: Observer, count: int) -> list[str]:
    found = [event["message"] for event in observer.list("v1", "Event") if event["type"] == "Warning"]
    return found if len(found) >= count else []
