"""`dev run` has the API server ask it, for as long as it runs: what does not fit is refused, later nothing is."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from kubernetes.client.exceptions import ApiException

from bench.observer import Observer, wait_for
from runner.serve.admission.registration import NAME
from tests.fixtures.operators import GROUP, Project, Things, definition, refusal
from tests.fixtures.terminal import DevRun

pytestmark = pytest.mark.cluster

CONFIGURATION = "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"
NOTHING = "- {name: Nothing, ansible.builtin.debug: {msg: nothing}}\n"
SLOW = "- {name: Take its time, ansible.builtin.command: sleep 300}\n"
SPECS = "argument_specs: {main: {options: {size: {type: int, description: How many to keep}}}}\n"
OLD = "test.example.com/v1alpha1"
MAPS = {"v1alpha1": {"to": {"size": "spec.replicas"}, "from": {"replicas": "spec.size"}}}


def admit(project: Project, most: int) -> None:
    """The role's own rule."""
    said = f"size {{{{ size }}}} is more than {most}"
    (project / "roles/thing/tasks/admit.yml").write_text(
        f"- {{name: Keep, ansible.builtin.assert: {{that: size | int <= {most}, fail_msg: '{said}'}}}}\n"
    )


def watch(project: Project, kind: str = "Thing", **fields: object) -> None:
    """The only one of the project."""
    (project / "watches.yaml").unlink(missing_ok=True)
    project.watch(kind.lower(), kind, **fields)


@pytest.fixture
def thing(project: Project) -> Project:
    """A project whose role says what it takes, and does nothing."""
    project.role("thing", NOTHING)
    (project / "roles/thing/meta").mkdir()
    (project / "roles/thing/meta/argument_specs.yml").write_text(SPECS)
    return project


def test_what_does_not_fit_is_refused_as_the_role_says_now_and_after_ctrl_c_nothing_is(
    dev_run: DevRun, thing: Project, things: Things
) -> None:
    admit(thing, 5)
    watch(thing, admission={"validate": {"tasks": "admit"}}, markUnsafe=True)
    terminal = dev_run()
    wrong = {"size": "many"}
    assert refusal(things, "a", wrong).endswith('spec.size: must be a whole number, is "many" (How many to keep)')
    assert refusal(things, "a", {"size": 6}).endswith("size 6 is more than 5")

    admit(thing, 3)
    assert refusal(things, "a", {"size": 4}).endswith("size 4 is more than 3")

    terminal.ctrl_c()
    assert terminal.ended() == 0
    things.create("a", wrong)


def is_accepted(things: Things, spec: dict[str, Any]) -> bool:
    try:
        things.create("accepted", spec)
    except ApiException:
        return False
    things.delete("accepted")
    return True


def test_a_watch_gets_and_loses_admission_by_a_save(dev_run: DevRun, thing: Project, things: Things) -> None:
    wrong = {"size": "many"}
    watch(thing)
    things.create("first", {"size": 1})
    dev_run().shows("2 ok, 0 changed")
    assert is_accepted(things, wrong)

    watch(thing, admission={"validate": True})
    assert "spec.size" in refusal(things, "a", wrong)

    watch(thing)
    wait_for("it to be accepted again", lambda: is_accepted(things, wrong), seconds=30)


@pytest.fixture
def gizmos(observer: Observer, kinds: Observer) -> Iterator[Callable[[str], Any]]:
    """A kind in two versions, with an object that was written in the old one; gives its spec in a version."""
    crd = definition("Gizmo")
    (version,) = crd["spec"]["versions"]
    crd["spec"]["versions"] = [{**version, "name": name, "storage": name != "v1"} for name in ("v1", "v1alpha1")]
    kinds.apply(crd)
    for served in (OLD, GROUP):
        wait_for("the kind to be served", partial(kinds.serves, served, "Gizmo"), seconds=30)
    body = {"apiVersion": OLD, "kind": "Gizmo", "metadata": {"name": "g"}, "spec": {"size": 3}}
    wait_for("it to be created", lambda: created(observer, body), seconds=30)

    def spec(api_version: str) -> Any:
        try:
            return (observer.get(api_version, "Gizmo", "g") or {}).get("spec")
        except ApiException:
            return "cannot be read"

    yield spec
    with suppress(ApiException):
        observer.delete(OLD, "Gizmo", "g")
    kinds.undefine(crd["metadata"]["name"])


def created(observer: Observer, body: dict[str, Any]) -> bool:
    with suppress(ApiException):
        observer.create(body)
        return True
    return False


def test_kind_is_converted_while_it_runs_and_what_a_killed_one_left_is_removed_at_the_next_start(
    dev_run: DevRun, thing: Project, things: Things, gizmos: Callable[[str], Any]
) -> None:
    thing.role("gizmo", NOTHING)
    watch(thing, "Gizmo", versions=MAPS)
    thing.watch("thing", admission={"validate": True})
    first = dev_run()
    wait_for("it to be converted", lambda: gizmos(GROUP) == {"replicas": 3}, seconds=60)
    assert "spec.size" in refusal(things, "a", {"size": "many"})
    os.killpg(first.process.pid, signal.SIGKILL)
    first.process.wait()
    assert gizmos(GROUP) == "cannot be read"

    watch(thing)
    dev_run()
    wait_for("it to be readable again", lambda: gizmos(GROUP) == {"size": 3}, seconds=60)
    assert things.observer.get(*CONFIGURATION, f"{NAME}.things.v1.test.example.com") is None
    assert is_accepted(things, {"size": "many"})


def test_it_withdraws_before_the_runs_have_ended_which_a_second_ctrl_c_cuts_short(
    dev_run: DevRun, thing: Project, things: Things, gizmos: Callable[[str], Any]
) -> None:
    thing.role("gizmo", SLOW)
    watch(thing, "Gizmo", versions=MAPS)
    terminal = dev_run()
    terminal.shows("Take its time")
    terminal.ctrl_c()
    terminal.shows("Ctrl-C again ends it at once")
    wait_for("nobody to convert", lambda: gizmos(GROUP) == {"size": 3}, seconds=20)
    terminal.ctrl_c()
    assert terminal.ended() == 1
