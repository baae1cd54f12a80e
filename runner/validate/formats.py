"""Findings as text: for people, for programs, and for what shows them in a pull request. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from runner.validate.findings import Finding, count
from runner.validate.rules import ALL, Severity
from runner.version import VERSION

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def as_text(findings: list[Finding]) -> str:
    """A line each, and one that counts them."""
    counts = {severity: count(findings, severity) for severity in Severity}
    counted = [f"{number} {severity}{'' if number == 1 else 's'}" for severity, number in counts.items()]
    return "".join(f"{line}\n" for line in (*findings, ", ".join(counted)))


def as_json(findings: list[Finding]) -> str:
    counted = {f"{severity}s": count(findings, severity) for severity in Severity}
    return _dumped({**counted, "findings": [_plain(finding) for finding in findings]})


def as_sarif(findings: list[Finding]) -> str:
    """SARIF 2.1.0, as code scanning takes it."""
    driver = {
        "name": "ansible-operator validate",
        "version": VERSION,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.meaning},
                "defaultConfiguration": {"level": str(rule.severity)},
            }
            for rule in ALL
        ],
    }
    run = {"tool": {"driver": driver}, "results": [_result(finding) for finding in findings]}
    return _dumped({"$schema": _SARIF, "version": "2.1.0", "runs": [run]})


def as_github(findings: list[Finding]) -> str:
    """Workflow commands, which GitHub shows beside the lines of a pull request."""
    return "".join(
        f"::{finding.severity} file={_property(finding.file)},line={finding.line},title={_property(finding.rule)}"
        f"::{_data(_sentence(finding))}\n"
        for finding in findings
    )


FORMATS: Mapping[str, Callable[[list[Finding]], str]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
}


def _plain(finding: Finding) -> Mapping[str, Any]:
    names = ("rule", "severity", "file", "line", "field", "message")
    return {name: getattr(finding, name) for name in names}


def _result(finding: Finding) -> Mapping[str, Any]:
    file = Path(finding.file)
    uri = file.as_uri() if file.is_absolute() else quote(file.as_posix())
    place = {"artifactLocation": {"uri": uri}, "region": {"startLine": finding.line}}
    return {
        "ruleId": finding.rule,
        "level": str(finding.severity),
        "message": {"text": _sentence(finding)},
        "locations": [{"physicalLocation": place}],
    }


def _sentence(finding: Finding) -> str:
    return f"{finding.field}: {finding.message}" if finding.field else finding.message


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _dumped(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2) + "\n"
