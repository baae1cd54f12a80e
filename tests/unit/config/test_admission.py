"""The fields `admission` and `versions` of watches.yaml."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
import yaml

from runner.config.admission import Admission, Conversion, FailurePolicy
from runner.config.watches import Watch
from runner.config.watchesfile import load_watches
from runner.errors import WatchesError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("tasks", "meta"):
        (tmp_path / "roles" / "thing" / name).mkdir(parents=True)
    role = tmp_path / "roles" / "thing"
    (role / "tasks" / "admit.yml").write_text("[]")
    (role / "tasks" / "default.yaml").write_text("[]")
    (role / "meta" / "argument_specs.yml").write_text("argument_specs: {main: {options: {}}}")
    (tmp_path / "roles" / "bare").mkdir()
    (tmp_path / "site.yml").write_text("[]")
    return tmp_path


def load(project: Path, fields: str, content: str = "role: thing") -> Watch:
    file = project / "watches.yaml"
    file.write_text(f"- version: v1\n  group: example.com\n  kind: Thing\n  {content}\n{indent(fields, '  ')}\n")
    ((watch,), notes) = load_watches(file, project, {})
    assert notes == ()
    return watch


def mistake(project: Path, fields: str, content: str = "role: thing") -> tuple[str, str]:
    with pytest.raises(WatchesError) as caught:
        load(project, fields, content)
    problem = caught.value.problems[0]
    assert {other.field for other in caught.value.problems} == {problem.field}
    return problem.field, problem.message


def test_a_watch_without_the_fields_has_no_webhooks(project: Path) -> None:
    watch = load(project, "vars: {}")
    assert (watch.admission, watch.conversions, watch.has_webhooks) == (None, {}, False)


def test_validate_is_by_the_roles_argument_specs(project: Path) -> None:
    watch = load(project, "admission: {validate: true}")
    assert watch.admission == Admission(specs=project / "roles" / "thing" / "meta" / "argument_specs.yml")
    assert watch.has_webhooks


def test_validate_by_tasks_is_by_the_argument_specs_as_well(project: Path) -> None:
    admission = load(project, "admission: {validate: {tasks: admit}}").admission
    assert admission is not None
    assert (admission.tasks, admission.specs is not None) == ("admit.yml", True)


def test_a_role_without_argument_specs_may_validate_by_tasks_alone(project: Path) -> None:
    (project / "roles" / "bare" / "tasks").mkdir()
    (project / "roles" / "bare" / "tasks" / "admit.yml").write_text("[]")
    assert load(project, "admission: {validate: {tasks: admit}}", "role: bare").admission == Admission(
        tasks="admit.yml"
    )


def test_argument_specs_may_be_in_the_roles_meta(project: Path) -> None:
    meta = project / "roles" / "bare" / "meta"
    meta.mkdir()
    (meta / "main.yml").write_text("---\nargument_specs:\n  main: {}\n")
    assert load(project, "admission: {validate: true}", "role: bare").admission == Admission(meta / "main.yml")


def test_argument_specs_of_a_playbook_are_beside_it(project: Path) -> None:
    (project / "site.meta.yml").write_text("argument_specs: {main: {}}")
    watch = load(project, "admission: {validate: true}", "playbook: site.yml")
    assert watch.admission == Admission(project / "site.meta.yml")


def test_defaults_and_the_failure_policy_are_read(project: Path) -> None:
    watch = load(project, "admission: {default: {tasks: default}, failurePolicy: Ignore}")
    assert watch.admission == Admission(default="default.yaml", failure_policy=FailurePolicy.IGNORE)
    assert not watch.admission.validates


def test_versions_have_the_maps_of_both_ways(project: Path) -> None:
    watch = load(project, "versions:\n  v1alpha1: {to: {size: spec.replicas}, from: {replicas: spec.size}}")
    assert watch.conversions == {"v1alpha1": Conversion({"size": "spec.replicas"}, {"replicas": "spec.size"})}
    assert watch.has_webhooks


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ("admission: {}", "[0].admission", "must have validate"),
        ("admission: {validate: false}", "[0].admission", "must have validate"),
        ("admission: true", "[0].admission", "must be a map"),
        ("admission: {validate: {tasks: none}}", "[0].admission.validate.tasks", "there is no"),
        ("admission: {validate: {tasks: ../admit}}", "[0].admission.validate.tasks", "must be below"),
        ("admission: {validate: {}}", "[0].admission.validate.tasks", "must name a file"),
        ("admission: {default: {tasks: none}}", "[0].admission.default.tasks", "there is no"),
        ("admission: {validate: true, failurePolicy: Never}", "[0].admission.failurePolicy", '"Never" is not one'),
        ("versions: {v1: {}}", "[0].versions.v1", "is the watch's own version"),
        ("versions: {V2: {}}", "[0].versions.V2", "is no version of a CRD"),
        ("versions: {v2: null}", "[0].versions.v2", "must be a map"),
        ("versions: {v2: {to: {a: 'spec.['}}}", "[0].versions.v2.to.a", "not a JMESPath expression"),
        ("versions: {v2: {to: {a..b: spec.a}}}", "[0].versions.v2.to.a..b", "is no path of a field"),
    ],
)
def test_a_mistake_is_found_with_its_field(project: Path, fields: str, field: str, message: str) -> None:
    found, said = mistake(project, fields)
    assert found == field
    assert said.startswith(message)


def test_a_role_without_argument_specs_cannot_validate_by_them(project: Path) -> None:
    field, message = mistake(project, "admission: {validate: true}", "role: bare")
    assert field == "[0].admission.validate"
    assert message.endswith("has no meta/argument_specs.yml")


def test_a_playbook_has_no_tasks_that_could_validate(project: Path) -> None:
    field, _ = mistake(project, "admission: {validate: {tasks: admit}}", "playbook: site.yml")
    assert field == "[0].admission.validate.tasks"


@pytest.mark.parametrize("fields", ["admission: {validate: {tasks: admit, x: 1}}", "versions: {v2: {too: {}}}"])
def test_unknown_fields_are_noted(project: Path, fields: str) -> None:
    file = project / "watches.yaml"
    entry = {"version": "v1", "group": "g.io", "kind": "Thing", "role": "thing", **yaml.safe_load(fields)}
    file.write_text(yaml.safe_dump([entry]))
    _, (note,) = load_watches(file, project, {})
    assert note.rule == "watch-unknown-field"
