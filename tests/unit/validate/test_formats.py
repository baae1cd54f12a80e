"""The formats of `validate`'s findings."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from runner.cli import main
from runner.validate.findings import Finding
from runner.validate.formats import as_github, as_json, as_sarif, as_text
from runner.validate.rules import ALL
from tests.unit.validate.conftest import Sound

ERROR = Finding("crd-not-served", "config/crd/a b.yaml", 7, "spec.x", "50% off, v1:\nno")
WARNING = Finding("watch-unknown-field", "/elsewhere/watches.yaml", 1, "", "unknown")


def closed(required: list[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


def listed(items: object) -> dict[str, object]:
    return {"type": "array", "items": items}


TEXT = {"type": "string", "minLength": 1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = closed(["text"], text=TEXT)
RULE = closed(["id"], id=TEXT, shortDescription=MESSAGE, defaultConfiguration=closed([], level=LEVEL))
REGION = closed([], startLine={"type": "integer", "minimum": 1})
PLACE = closed(["artifactLocation"], artifactLocation=closed([], uri=TEXT), region=REGION)
RESULT = closed(
    ["message"],
    ruleId=TEXT,
    level=LEVEL,
    message=MESSAGE,
    locations=listed(closed([], physicalLocation=PLACE)),
)
RUN = closed(
    ["tool"],
    tool=closed(["driver"], driver=closed(["name"], name=TEXT, version=TEXT, rules=listed(RULE))),
    results=listed(RESULT),
)
SARIF = closed(["version", "runs"], **{"$schema": TEXT}, version={"const": "2.1.0"}, runs=listed(RUN))
"""What the published schema of SARIF 2.1.0 says of the objects that are used."""


def test_text_has_a_line_for_each_finding_and_one_that_counts() -> None:
    assert as_text([WARNING]) == (
        "warning: /elsewhere/watches.yaml:1: unknown [watch-unknown-field]\n0 errors, 1 warning\n"
    )


def test_json_counts_and_lists_the_findings() -> None:
    assert json.loads(as_json([ERROR])) == {
        "errors": 1,
        "warnings": 0,
        "findings": [
            {
                "rule": "crd-not-served",
                "severity": "error",
                "file": "config/crd/a b.yaml",
                "line": 7,
                "field": "spec.x",
                "message": "50% off, v1:\nno",
            }
        ],
    }


def test_github_gets_workflow_commands_with_what_they_reserve_escaped() -> None:
    assert as_github([ERROR, WARNING]) == (
        "::error file=config/crd/a b.yaml,line=7,title=crd-not-served::spec.x: 50%25 off, v1:%0Ano\n"
        "::warning file=/elsewhere/watches.yaml,line=1,title=watch-unknown-field::unknown\n"
    )


def test_sarif_has_what_the_schema_requires_and_nothing_it_does_not_know() -> None:
    jsonschema.Draft7Validator(SARIF).validate(json.loads(as_sarif([ERROR, WARNING])))


def test_sarif_names_every_rule_once_and_each_result_one_of_them() -> None:
    (run,) = json.loads(as_sarif([ERROR, WARNING]))["runs"]
    known = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert known == [rule.id for rule in ALL]
    assert {result["ruleId"] for result in run["results"]} <= set(known)


def test_sarif_names_files_by_uri() -> None:
    (run,) = json.loads(as_sarif([ERROR, WARNING]))["runs"]
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
    assert places == ["config/crd/a%20b.yaml", "file:///elsewhere/watches.yaml"]


@pytest.mark.parametrize("flag", ["--format", "--output"])
def test_the_format_is_chosen_by_a_flag_or_its_former_name(
    sound: Sound, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", flag, "json", str(sound.path)]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []


def test_a_format_that_is_not_known_is_an_error(sound: Sound, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--format=xml", str(sound.path)]) == 1
    assert "choose from" in capsys.readouterr().err


def test_a_sound_project_is_nothing_for_github(sound: Sound, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--format=github", str(sound.path)]) == 0
    assert capsys.readouterr().out == ""


def test_the_files_of_findings_are_named_from_the_working_directory(
    sound: Sound, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sound.path.parent)
    sound.replace("watches.yaml", "kind: Thing", "kind: Thing\n  colour: red")
    assert main(["validate", "--format=github", Path("project").name]) == 0
    assert capsys.readouterr().out.startswith(
        "::warning file=project/watches.yaml,line=4,title=watch-unknown-field::"
    )
