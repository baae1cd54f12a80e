"""`ansible-operator validate`: finds the mistakes of a project from its files alone."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from runner.config.watchesfile import Reading, read_watches
from runner.errors import WatchesError
from runner.validate import crds, dependencies, documents, rbac
from runner.validate.content import IMAGE_HOME, Reader, find_places, redirects
from runner.validate.crds import Watched
from runner.validate.documents import Finding, Severity, of_problem, shown, warning

TRUSTING = (
    "whoever may write such a resource can run commands as the operator: Jinja in it is evaluated, and a key such"
    " as ansibleConnection says how tasks are run. Set `markUnsafe: true`, unless all of them may do that"
)


def validate(project: Path, watches_file: Path, environment: Mapping[str, str]) -> list[Finding]:
    """What is wrong with the project, in the order of files and lines.

    `environment` is that of the operator, with its ANSIBLE_ROLES_PATH and ANSIBLE_COLLECTIONS_PATH.
    """
    file = shown(watches_file)
    try:
        reading = read_watches(Path(file), project, environment, IMAGE_HOME)
    except WatchesError as error:
        return [of_problem(problem) for problem in error.problems]
    watched = [
        Watched(watch, file, reading.lines.get(watch.gvk, 1))
        for watch in reading.watches
        if watch.gvk.version and watch.gvk.kind
    ]
    findings = {
        *_of_watches(reading, watched),
        *_of_content(watched, project, environment),
        *_of_manifests(watched, project),
    }
    return sorted(findings)


def _of_watches(reading: Reading, watched: list[Watched]) -> list[Finding]:
    fatal = [of_problem(problem) for problem in reading.fatal]
    harmless = [of_problem(problem, Severity.WARNING) for problem in reading.harmless]
    trusting = [item for item in watched if not item.watch.mark_unsafe]
    return [*fatal, *harmless, *(warning(item.file, item.line, "markUnsafe", TRUSTING) for item in trusting)]


def _of_content(watched: list[Watched], project: Path, environment: Mapping[str, str]) -> list[Finding]:
    places = find_places(project, environment)
    reader = Reader(places)
    for item in watched:
        finalizer = item.watch.finalizer
        for content in (item.watch.content, finalizer.content if finalizer else None):
            if content is not None and content.path.exists():
                reader.read(content)
    required, findings = dependencies.read_requirements(project)
    findings += dependencies.missing(required, places)
    return [*reader.findings, *findings, *dependencies.check(reader.used, places, required, redirects())]


def _of_manifests(watched: list[Watched], project: Path) -> list[Finding]:
    found, findings = documents.read_manifests(project)
    definitions = documents.of_kind(found, "CustomResourceDefinition")
    if documents.has_crd_directory(project):
        for item in watched:
            findings += crds.check(item, definitions)
    return [*findings, *rbac.check(watched, found)]


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print the findings; the exit code is 1 if one of them is an error. Raises SettingsError for no directory."""
    project = documents.project_directory(parsed.directory)
    findings = validate(project, project / parsed.watches_file, environment)
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
