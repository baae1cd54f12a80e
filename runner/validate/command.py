"""`ansible-operator validate`: its findings, for people or for programs, and its exit code."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from runner.errors import SettingsError
from runner.validate.findings import Finding, Severity
from runner.validate.project import validate


def main(parsed: argparse.Namespace) -> int:
    """Print the findings; the exit code is 1 if one of them is an error. Raises SettingsError for no directory."""
    project = Path(parsed.directory).resolve()
    if not project.is_dir():
        raise SettingsError(f"{parsed.directory} is not a directory: name the one that holds watches.yaml")
    findings = validate(project, project / parsed.watches_file, os.environ)
    sys.stdout.write(_as_json(findings) if parsed.output == "json" else _as_text(findings))
    return 1 if _count(findings, Severity.ERROR) else 0


def _as_text(findings: Sequence[Finding]) -> str:
    counts = {severity: _count(findings, severity) for severity in Severity}
    counted = [f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts.items()]
    return "".join(f"{line}\n" for line in (*findings, ", ".join(counted)))


def _as_json(findings: Sequence[Finding]) -> str:
    counted = {f"{severity}s": _count(findings, severity) for severity in Severity}
    return json.dumps({**counted, "findings": list(map(asdict, findings))}, indent=2) + "\n"


def _count(findings: Sequence[Finding], severity: Severity) -> int:
    return sum(finding.severity is severity for finding in findings)
