"""The JSON schema of watches.yaml accepts what the operator's own reader accepts, and refuses what it refuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runner.config.watches import WATCH_FIELDS
from runner.config.watchesfile import read_watches
from runner.generate.schema import text, watches_schema

ROOT = Path(__file__).parents[3]
SCHEMA = watches_schema()
LEAST = {"group": "g.example.com", "version": "v1", "kind": "Kind", "role": "memcached"}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(["v1", "Kind"]),
    "path": st.just("playbooks/cibuild.yml"),
    "name, path or collection role": st.just("helloapp"),
    "boolean": st.booleans(),
    "integer": st.integers(-5, 50),
    "map": st.dictionaries(st.sampled_from(["a", "b"]), st.integers()),
    "duration above 0": st.sampled_from(["10m", "1h30m", "0.5s", "+2h"]),
    "duration": st.sampled_from(["1h30m", "10s", "0", "1.5h", ".5s", "-5s", "300ms", "1m2.s"]),
    "map of JMESPath": st.dictionaries(st.sampled_from(["phase", "a.b"]), st.just("data.x")),
    "auto, warm or cold": st.sampled_from(["auto", "warm", "cold"]),
    "list of {group, version, kind}": st.lists(
        st.fixed_dictionaries({"version": st.just("v1"), "kind": st.just("Pod")}), max_size=2
    ),
    "label selector": st.fixed_dictionaries(
        {},
        optional={
            "matchLabels": st.just({"a": "b"}),
            "matchExpressions": st.just([{"key": "a", "operator": "In", "values": ["b"]}]),
        },
    ),
    "list of {apiVersion, kind, names, selector, namespaces}": st.lists(
        st.sampled_from(
            [
                {"apiVersion": "v1", "kind": "Secret", "names": "spec.secret"},
                {"apiVersion": "v1", "kind": "Secret", "names": "spec.secret", "namespaces": "all"},
                {"apiVersion": "v1", "kind": "ConfigMap", "selector": {}},
                {"apiVersion": "v1", "kind": "ConfigMap", "selector": {}, "namespaces": "all"},
            ]
        )
    ),
    "list of {apiVersion, kind, reconcileOn}": st.just(
        [{"apiVersion": "batch/v1", "kind": "Job", "reconcileOn": "status.succeeded"}]
    ),
    "{validate, default, failurePolicy}": st.sampled_from(
        [
            {"validate": True},
            {"validate": {"tasks": "main"}},
            {"default": {"tasks": "main"}, "failurePolicy": "Fail"},
        ]
    ),
    "map of {to, from}": st.sampled_from(
        [{}, {"v1alpha1": {"to": {"size": "spec.replicas"}, "from": {"replicas": "spec.size"}}}, {"v2": {}}]
    ),
    "what argument specs cannot say of a CRD": st.fixed_dictionaries(
        {},
        optional={
            "generate": st.booleans(),
            "plural": st.just("kinds"),
            "shortNames": st.just(["k"]),
            "scope": st.sampled_from(["Namespaced", "Cluster"]),
            "columns": st.just({"Size": "spec.size"}),
            "scale": st.just({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}),
            "schema": st.just({"spec.size": {"minimum": 0}}),
        },
    ),
    "{name, playbook, role, vars}": st.just({"name": "example.com/finalizer", "vars": {"state": "absent"}}),
}
GOOD = st.fixed_dictionaries(
    {name: st.just(value) for name, value in LEAST.items()},
    optional={field.name: VALUES[field.type] for field in WATCH_FIELDS if field.name not in (*LEAST, "playbook")},
).filter(lambda watch: "driftPeriod" not in watch or watch.get("manageStatus", True))
BEYOND = re.compile("was not found|there is no|there are no|is always null|not a JMESPath expression")
"""What no schema knows: the files of the project, and what is in an expression."""
ANYTHING = st.sampled_from(["", "text", True, 7, 1.5, [], ["x"], {}, [{}], {"x": 1}, "10", "1d", {"name": "x"}])


def valid(document: object) -> bool:
    return not list(jsonschema.Draft7Validator(SCHEMA).iter_errors(document))


def mistakes(document: object, directory: Path) -> list[str]:
    """What the operator says of such a file in this repository, unknown fields included."""
    file = directory / "watches.yaml"
    file.write_text(yaml.safe_dump(document))
    reading = read_watches(file, ROOT, {})
    return [str(problem) for problem in (*reading.fatal, *reading.harmless)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("watches")


def test_it_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


def test_the_sample_operator_has_a_valid_file() -> None:
    assert valid(yaml.safe_load((ROOT / "watches.yaml").read_text()))


@given(entry=GOOD)
def test_what_the_operator_reads_without_a_complaint_is_valid(directory: Path, entry: dict[str, Any]) -> None:
    assert mistakes([entry], directory) == []
    assert valid([entry])


def test_a_playbook_goes_without_a_role(directory: Path) -> None:
    playbook = {name: value for name, value in LEAST.items() if name != "role"} | {
        "playbook": "playbooks/cibuild.yml"
    }
    assert mistakes([playbook], directory) == []
    assert valid([playbook])


@given(field=st.sampled_from([*(field.name for field in WATCH_FIELDS), "unknown"]), value=ANYTHING)
def test_what_is_valid_the_operator_reads_without_a_complaint(directory: Path, field: str, value: object) -> None:
    document = [{**LEAST, field: value}]
    said = [line for line in mistakes(document, directory) if not BEYOND.search(line)]
    assert not valid(document) or said == []


@pytest.mark.parametrize("missing", ["version", "kind", "role"])
def test_what_a_watch_must_have_is_required(missing: str) -> None:
    assert not valid([{name: value for name, value in LEAST.items() if name != missing}])


def test_every_field_is_described() -> None:
    properties = SCHEMA["items"]["properties"]
    assert [name for name, schema in properties.items() if not schema["description"]] == []
    assert list(properties) == [field.name for field in WATCH_FIELDS]


def test_that_of_the_sample_operator_is_current() -> None:
    assert (ROOT / "watches.schema.json").read_text() == text()
