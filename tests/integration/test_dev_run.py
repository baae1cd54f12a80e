"""`dev run`: what is saved is applied and run, what is wrong is shown where it is, and nothing is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.observer import Observer, wait_for
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import GROUP, Project, Things, definition
from tests.fixtures.terminal import DevRun

pytestmark = pytest.mark.cluster

FACT = "- {{name: Publish, ansible.builtin.set_fact: {{said: {word}}}}}\n"
SLOW = "- {name: Take its time, ansible.builtin.command: sleep 300}\n"
STATUS = {"said": "facts.said"}
WITHIN = 5.0
"""Seconds from a save to its run, on a machine where much else goes on; by itself it takes less than one."""


def says(things: Things, name: str, word: str, kind: str = "Thing") -> None:
    wait_for(f"{name} to say {word}", lambda: things.status(name, kind).get("said") == word, seconds=60)


def thing(project: Project, word: str = "first") -> Path:
    """A project of one kind; the file of its role."""
    project.role("thing", FACT.format(word=word))
    project.watch("thing", status=STATUS)
    return project / "roles/thing/tasks/main.yml"


def test_saved_role_is_run_soon_and_a_broken_one_shows_its_line_and_is_not(
    dev_run: DevRun, project: Project, things: Things
) -> None:
    role = thing(project)
    things.create("a")
    terminal = dev_run()
    terminal.shows("1 ok, 0 changed")

    saved = time.monotonic()
    role.write_text(FACT.format(word="second"))
    terminal.shows("saved")
    assert time.monotonic() - saved < WITHIN
    says(things, "a", "second")

    role.write_text(FACT.format(word="third") + "broken: [\n")
    terminal.shows("roles/thing/tasks/main.yml:2: not YAML: ")
    terminal.shows("successful")
    assert things.status("a")["said"] == "second"

    role.write_text(FACT.format(word="fourth"))
    says(things, "a", "fourth")
    wait_for("the mistake to be gone", lambda: "not YAML" not in "".join(terminal.screen()), seconds=60)


def test_failure_and_running_task_are_shown_with_their_lines(
    dev_run: DevRun, project: Project, things: Things
) -> None:
    role = thing(project)
    things.create("a")
    terminal = dev_run()
    terminal.shows("1 ok, 0 changed")

    role.write_text("- {name: Greet, ansible.builtin.debug: {msg: '{{ nobody }}'}}\n")
    terminal.shows(
        f"Thing {things.observer.namespace}/a: 'nobody' is undefined (Greet, roles/thing/tasks/main.yml:1)"
    )

    role.write_text(SLOW)
    terminal.shows("Take its time (roles/thing/tasks/main.yml:1)")
    terminal.ctrl_c()
    terminal.shows("for 30 s at most; Ctrl-C again ends it at once")
    terminal.ctrl_c()
    assert terminal.ended() == 1
    assert terminal.is_given_back()


@pytest.fixture
def gizmo(kinds: Observer) -> Iterator[dict[str, Any]]:
    """A CRD that is not in the cluster yet."""
    crd = definition("Gizmo")
    yield crd
    kinds.undefine(crd["metadata"]["name"])


def test_kind_that_is_added_with_its_crd_is_served_and_the_others_rest(
    dev_run: DevRun, project: Project, things: Things, gizmo: dict[str, Any]
) -> None:
    thing(project)
    things.create("a")
    terminal = dev_run()
    terminal.shows("1 ok, 0 changed")
    before = things.get("a")["metadata"]["resourceVersion"]

    project.role("gizmo", FACT.format(word="made"))
    project.watch("gizmo", kind="Gizmo", status=STATUS)
    terminal.shows("the API server does not serve this kind")
    (project / "crds").mkdir()
    (project / "crds/gizmo.yaml").write_text(yaml.safe_dump(gizmo))
    wait_for("the kind to be served", lambda: things.observer.serves(GROUP, "Gizmo"), seconds=30)
    things.create("g", kind="Gizmo")
    says(things, "g", "made", "Gizmo")
    assert things.get("a")["metadata"]["resourceVersion"] == before

    wrong = yaml.safe_dump(gizmo).replace("type: object", "type: nothing", 1)
    (project / "crds/gizmo.yaml").write_text(wrong)
    line = 1 + wrong[: wrong.index("type: nothing")].count("\n")
    terminal.shows(f"crds/gizmo.yaml:{line}: refused: ")


def size_in(observer: Observer, crd: dict[str, Any]) -> dict[str, Any]:
    """The schema of `spec.size` as it is in the cluster."""
    found = observer.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd["metadata"]["name"]) or {}
    (version,) = found["spec"]["versions"]
    size = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]
    return dict(size)


SPECS = "argument_specs: {{main: {{short_description: A gizmo, options: {{{options}}}}}}}\n"


def test_crd_that_is_made_of_a_role_follows_what_the_role_says(
    dev_run: DevRun, project: Project, things: Things, gizmo: dict[str, Any]
) -> None:
    project.role("gizmo", FACT.format(word="'size {{ size }}'"))
    project.watch("gizmo", kind="Gizmo", status=STATUS)
    (project / "roles/gizmo/meta").mkdir()
    specs = project / "roles/gizmo/meta/argument_specs.yml"
    specs.write_text(SPECS.format(options="size: {type: int, default: 1}"))
    subprocess.run([sys.executable, "-m", "runner", "generate", "crds"], cwd=project.path, check=True)
    terminal = dev_run()
    wait_for("the kind to be served", lambda: things.observer.serves(GROUP, "Gizmo"), seconds=60)
    things.create("g", {}, kind="Gizmo")
    says(things, "g", "size 1", "Gizmo")

    specs.write_text(SPECS.format(options="size: {type: int, default: 2}"))
    wait_for(
        "the default to be another one", lambda: size_in(things.observer, gizmo).get("default") == 2, seconds=30
    )
    terminal.shows("saved")

    specs.write_text(SPECS.format(options="size: {type: number}"))
    terminal.shows("roles/gizmo/meta/argument_specs.yml:1: ")


def test_ctrl_c_gives_the_terminal_back_whatever_its_size_was_and_leaves_the_control_plane_alone(
    dev_run: DevRun, project: Project, things: Things, control_plane: ControlPlane
) -> None:
    thing(project)
    things.create("a" * 200)
    terminal = dev_run()
    terminal.shows("1 ok, 0 changed")
    terminal.resize(10, 30)
    wait_for("a narrower table", lambda: max(map(len, terminal.screen())) <= 30, seconds=30)
    terminal.ctrl_c()
    assert terminal.ended() == 0
    assert terminal.is_given_back()
    assert terminal.lines("The control plane stays up; `ansible-operator dev down --dir ")
    assert control_plane.is_running()
    assert not processes_with(str(terminal.process.args))
    assert control_plane.layout.operator_log.exists()


def processes_with(word: str) -> list[str]:
    """The command lines that have it."""
    found = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if file.exists()]
    return [line.decode(errors="replace") for line in found if word.encode() in line]


@pytest.mark.timeout(300)
def test_without_a_terminal_it_starts_a_control_plane_applies_the_samples_and_writes_lines(
    project: Project, tmp_path: Path
) -> None:
    thing(project)
    (project / "crds").mkdir()
    (project / "crds/thing.yaml").write_text(yaml.safe_dump(definition("Thing")))
    (project / "samples").mkdir()
    sample = {"apiVersion": GROUP, "kind": "Thing", "metadata": {"name": "sample"}, "spec": {}}
    (project / "samples/thing.yaml").write_text(yaml.safe_dump(sample))
    plane = ControlPlane(tmp_path / "plane")
    command = [sys.executable, "-m", "runner", "dev", "run", "--samples", "--dir", str(plane.layout.directory)]
    try:
        with (tmp_path / "out").open("w") as out:
            process = subprocess.Popen(
                [*command, f"--runner-dir={tmp_path}/runner"],
                cwd=project.path,
                env={**os.environ, "ANSIBLE_GATHERING": "explicit"},
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        try:
            written = (tmp_path / "out").read_text
            wait_for(
                "the sample to be reconciled", lambda: "Thing default/sample: succeeded" in written(), seconds=120
            )
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
        assert "\x1b" not in written()
        assert re.search(
            r"info +Applied CustomResourceDefinition things\.test\.example\.com \(crds/thing\.yaml\)", written()
        )
        assert plane.is_running()
    finally:
        plane.stop(delete=True)
