"""Whatever a custom resource holds: it arrives as it is, or a clear word says why not, and nothing is lost."""

from __future__ import annotations

import json

import pytest

from bench.observer import Observer, wait_for
from tests.fixtures.operators import PATIENCE, Operate, Project, Things

pytestmark = pytest.mark.cluster

SHOW = """
- name: Write down what arrived
  ansible.builtin.copy:
    content: "{{ vars['_test_example_com_thing_spec'] | to_json }}"
    dest: "{{ lookup('env', 'SEEN') }}/{{ ansible_operator_meta.name[:40] }}.json"
    mode: "0600"
"""


@pytest.mark.parametrize("name", ["a", "with.dots.in.it", "x" * 253], ids=["short", "dots", "253 characters"])
def test_any_name_that_kubernetes_allows_is_reconciled(
    project: Project, operate: Operate, things: Things, name: str
) -> None:
    project.role("show", SHOW)
    project.watch("show")
    operate(SEEN=str(project.path))
    things.create(name, {"text": "here"})
    things.wait(name, "Successful")
    assert json.loads((project / f"{name[:40]}.json").read_text()) == {"text": "here"}


def test_jinja_in_a_spec_is_never_evaluated_when_marked_unsafe(
    project: Project, operate: Operate, things: Things
) -> None:
    spec = {"text": "{{ 6 * 7 }}", "list": ["{% raw %}", {"deep": "{{ lookup('env', 'HOME') }}"}]}
    project.role("show", SHOW)
    project.watch("show", markUnsafe=True)
    operate(SEEN=str(project.path))
    things.create("first", spec)
    things.wait("first", "Successful")
    assert json.loads((project / "first.json").read_text()) == spec


def test_a_resource_that_would_steer_ansible_runs_as_any_other_with_a_warning_event(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    planter = project / "planter"
    planter.write_text(f"#!/bin/sh\ntouch {project}/planted\n")
    planter.chmod(0o755)
    spec = {
        "text": f"{{{{ lookup('pipe', '{planter}') }}}}",
        "ansiblePythonInterpreter": str(planter),
        "ansibleShellExecutable": str(planter),
        "disarm": {"__ansible_vault": 5},
    }
    role = "- name: Use it\n  ansible.builtin.command: echo {{ text | quote }}\n"
    project.role("show", f"{role}- name: Show it\n  ansible.builtin.debug: {{msg: '{{{{ text }}}}'}}\n")
    project.watch("show", markUnsafe=True)
    operate()
    things.create("first", spec)
    things.wait("first", "Successful")
    assert not (project / "planted").exists()
    message = wait_for("a warning Event", lambda: _warning(observer), seconds=PATIENCE)
    assert "left out" in message


def test_null_and_nested_values_arrive_as_they_are(project: Project, operate: Operate, things: Things) -> None:
    spec = {"nested": [[1, [2, {"a": [True, 1.5, None]}]], []], "number": 3, "text": "ünï\u2028cödé 🙂\n\ttab"}
    project.role("show", SHOW)
    project.watch("show")
    operate(SEEN=str(project.path))
    things.create("first", spec)
    things.wait("first", "Successful")
    assert json.loads((project / "first.json").read_text()) == spec


def test_keys_that_collide_in_snake_case_are_warned_about_and_the_snake_one_wins(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    project.role(
        "pick",
        """
        - name: Take the one that was in snake case already
          ansible.builtin.assert:
            that: my_key == 'snake'
        """,
    )
    project.watch("pick")
    operate()
    things.create("first", {"myKey": "camel", "my_key": "snake"})
    things.wait("first", "Successful")
    message = wait_for("a warning Event", lambda: _warning(observer), seconds=PATIENCE)
    assert "myKey" in message
    assert "my_key" in message


def test_a_bad_period_annotation_is_a_failure_that_says_so_and_runs_nothing(
    project: Project, operate: Operate, things: Things
) -> None:
    project.role("show", SHOW)
    project.watch("show")
    operate(SEEN=str(project.path))
    things.create("first", annotations={"ansible.sdk.operatorframework.io/reconcile-period": "soon"})
    things.wait("first", "Failure")
    expected = 'Unable to parse reconcile period annotation: time: invalid duration "soon"'
    assert things.condition("first", "Failure")["message"] == expected
    assert not (project / "first.json").exists()


def test_annotations_that_ask_for_too_much_get_what_is_allowed_and_a_warning_each(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    prefix = "ansible.sdk.operatorframework.io/"
    greedy = {"verbosity": "150000000", "reconcile-period": "1ns", "max-runner-artifacts": "0"}
    project.role("show", SHOW)
    project.watch("show")
    operator = operate(SEEN=str(project.path))
    things.create("first", annotations={prefix + name: value for name, value in greedy.items()})
    things.wait("first", "Successful")
    (command,) = operator.runner_dir.rglob("artifacts/latest/command")
    assert "-vvvvvvv" in json.loads(command.read_text())["command"]
    warned = wait_for("its Events", lambda: _warnings(observer, 3), seconds=PATIENCE)
    assert sorted(warned) == [
        f"annotation {prefix}max-runner-artifacts: '0' is more than may be kept; using 100",
        f"annotation {prefix}reconcile-period: '1ns' is too short; using 10s",
        f"annotation {prefix}verbosity: '150000000' is not in 0 to 7; using 7",
    ]
    assert len(list(operator.records("Reconciled"))) == 1


def test_a_role_that_says_megabytes_in_any_script_succeeds(
    project: Project, operate: Operate, things: Things
) -> None:
    project.role(
        "loud",
        """
        - name: Say a lot
          ansible.builtin.debug:
            msg: "{{ 'päivää 🙂 ' * 200000 }}"
        """,
    )
    project.watch("loud")
    operate()
    things.create("first")
    things.wait("first", "Successful")


def test_a_syntax_error_in_a_role_is_a_failure_that_shows_ansibles_words(
    project: Project, operate: Operate, things: Things
) -> None:
    project.role("broken", "- name: Unfinished\n  ansible.builtin.debug: {msg: [}\n")
    project.watch("broken")
    operate()
    things.create("first")
    things.wait("first", "Failure")
    message = things.condition("first", "Failure")["message"]
    assert "roles/broken/tasks/main.yml" in message


def test_a_run_that_takes_longer_than_its_deadline_is_ended_and_is_a_failure(
    project: Project, operate: Operate, things: Things
) -> None:
    project.role("slow", "- name: Wait\n  ansible.builtin.command: sleep 600\n")
    project.watch("slow")
    operate("--run-deadline=3s")
    things.create("first")
    things.wait("first", "Failure")
    message = things.condition("first", "Failure")["message"]
    assert "longer than 3 s (--run-deadline)" in message


def _warning(observer: Observer) -> str:
    warnings = [event["message"] for event in observer.list("v1", "Event") if event["type"] == "Warning"]
    return str(warnings[0]) if warnings else ""


def _warnings(observer: Observer, count: int) -> list[str]:
    found = [event["message"] for event in observer.list("v1", "Event") if event["type"] == "Warning"]
    return found if len(found) >= count else []
