"""The tests of the scorecard: which fails of what, and what to do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.scorecard.checks import Result, Seen, State, run
from runner.scorecard.report import as_json, as_text
from runner.scorecard.trial import is_over
from runner.validate.bundle.files import SUITES
from runner.validate.findings import Finding

EXAMPLE = {
    "apiVersion": "example.com/v1",
    "kind": "Shop",
    "metadata": {"name": "corner"},
    "spec": {"size": 1},
}
OWNED: dict[str, Any] = {
    "kind": "Shop",
    "version": "v1",
    "resources": [{"kind": "Deployment"}],
    "specDescriptors": [{"path": "size"}],
    "statusDescriptors": [{"path": "open"}],
}
CRD = {
    "spec": {
        "group": "example.com",
        "names": {"kind": "Shop"},
        "versions": [
            {
                "name": "v1",
                "schema": {
                    "openAPIV3Schema": {
                        "properties": {
                            "spec": {"properties": {"size": {"type": "integer"}}},
                            "status": {"properties": {"open": {"type": "boolean"}}},
                        }
                    }
                },
            }
        ],
    }
}


def csv(**owned: Any) -> dict[str, Any]:
    return {"spec": {"customresourcedefinitions": {"owned": [{**OWNED, **owned}]}}}


GOOD = Seen(csv(), [CRD], [EXAMPLE], reconciled=[{**EXAMPLE, "status": {"open": True}}])
FINDING = Finding("csv-field", "csv.yaml", 3, "spec.icon", "is none")
CLOSED = {**EXAMPLE, "status": {"open": True, "closes": "18:00"}}


@pytest.mark.parametrize("name", SUITES)
def test_a_good_bundle_passes(name: str) -> None:
    assert run(name, GOOD).state is State.PASS


@pytest.mark.parametrize(
    ("name", "seen", "error"),
    [
        ("basic-check-spec", replace(GOOD, examples=[]), "there are no examples"),
        (
            "basic-check-spec",
            replace(GOOD, examples=[{**EXAMPLE, "spec": None}]),
            "Shop corner has no spec",
        ),
        (
            "olm-bundle-validation",
            replace(GOOD, findings=[FINDING]),
            "csv.yaml:3: spec.icon: is none",
        ),
        (
            "olm-bundle-validation",
            replace(GOOD, refused={"Service shop": 'unknown field "spec.prots"'}),
            'the API server refuses Service shop: unknown field "spec.prots"',
        ),
        (
            "olm-crds-have-validation",
            replace(GOOD, examples=[{**EXAMPLE, "spec": {"sizes": 1}}]),
            "Shop corner: the schema has no spec.sizes",
        ),
        (
            "olm-crds-have-validation",
            replace(GOOD, crds=[]),
            "Shop corner: no CRD of the bundle defines its version",
        ),
        (
            "olm-crds-have-resources",
            replace(GOOD, csv=csv(resources=[])),
            "Shop v1 does not say which resources its runs make",
        ),
        (
            "olm-spec-descriptors",
            replace(GOOD, csv=csv(specDescriptors=[])),
            "Shop corner: spec.size has no descriptor",
        ),
        (
            "olm-status-descriptors",
            replace(GOOD, reconciled=[CLOSED]),
            "Shop corner: status.closes has no descriptor",
        ),
        (
            "olm-status-descriptors",
            replace(GOOD, reconciled=[EXAMPLE]),
            "Shop corner: the operator has written no status",
        ),
        ("olm-status-descriptors", replace(GOOD, reconciled=[]), "Shop corner was not reconciled"),
    ],
)
def test_a_failure_says_what_is_wrong_and_what_to_do(name: str, seen: Seen, error: str) -> None:
    result = run(name, seen)
    assert (result.state, result.errors[0]) == (State.FAIL, error)
    assert result.suggestions


def test_a_warning_is_a_suggestion_and_no_failure() -> None:
    warning = replace(FINDING, rule="csv-image")
    result = run("olm-bundle-validation", replace(GOOD, findings=[warning]))
    assert (result.state, len(result.suggestions)) == (State.PASS, 1)


def test_every_suite_of_the_configuration_has_its_test() -> None:
    assert [run(name, GOOD).name for name in SUITES] == list(SUITES)


FAILED = Result("basic-check-spec", ("no spec",), ("give it one",), "1 example\n")


def test_people_read_a_line_a_test_and_what_to_do() -> None:
    assert as_text([FAILED]) == "fail  basic-check-spec\n      error: no spec\n      do: give it one\n"


def test_programs_read_a_list_of_tests_in_operator_sdks_format() -> None:
    found = json.loads(as_json([FAILED]))
    (test,) = found["items"]
    assert (found["kind"], found["apiVersion"]) == ("TestList", "scorecard.operatorframework.io/v1alpha3")
    assert test["spec"]["entrypoint"] == ["scorecard-test", "basic-check-spec"]
    assert test["spec"]["labels"] == {"suite": "basic", "test": "basic-check-spec-test"}
    assert test["status"]["results"] == [
        {
            "name": "basic-check-spec",
            "log": "1 example\n",
            "state": "fail",
            "errors": ["no spec"],
            "suggestions": ["give it one"],
        }
    ]


@pytest.mark.parametrize(
    ("condition", "over"),
    [
        ({"type": "Successful", "status": "True", "observedGeneration": 2}, True),
        ({"type": "Failure", "status": "True", "observedGeneration": 2}, True),
        ({"type": "Successful", "status": "True", "observedGeneration": 1}, False),
        ({"type": "Running", "status": "True", "observedGeneration": 2}, False),
    ],
)
def test_an_example_is_done_with_once_a_run_of_its_generation_is_over(condition: object, over: bool) -> None:
    assert is_over({"metadata": {"generation": 2}, "status": {"conditions": [condition]}}) is over


def test_a_directory_without_a_bundle_is_told_how_it_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "watches.yaml").write_text("[]")
    assert main(["scorecard", str(tmp_path), "--project", str(tmp_path)]) == 1
    assert "ansible-operator generate bundle" in capsys.readouterr().err


def test_a_selector_that_means_no_test_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scorecard", str(tmp_path), "--selector=suite=fast"]) == 1
    assert "there are suite=basic, suite=olm" in capsys.readouterr().err
