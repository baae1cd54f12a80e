"""`ansible-operator validate`: finds the mistakes of a project from its files alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from runner.config.watches import Content, Watch
from runner.config.watchesfile import Reading, read_watches
from runner.config.yamlfile import Located
from runner.errors import WatchesError
from runner.objects import GroupVersionKind
from runner.validate import consistency, documents, ignores
from runner.validate.bundle import check as of_bundle
from runner.validate.bundle.check import is_bundle
from runner.validate.content import admission, dependencies, pins
from runner.validate.content import check as ansible_content
from runner.validate.content.installed import Installed
from runner.validate.content.places import IMAGE_HOME, Places, find_places
from runner.validate.content.reader import Reader, redirects
from runner.validate.documents import shown
from runner.validate.findings import Finding, count, of_problem
from runner.validate.formats import FORMATS
from runner.validate.manifests import watching
from runner.validate.manifests.crds import Watched
from runner.validate.rules import Severity


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
        Watched(watch, file, reading.entries.get(watch.gvk, Located(None, 1)))
        for watch in reading.watches
        if watch.gvk.version and watch.gvk.kind
    ]
    places = find_places(project, environment)
    findings = {
        *watching.check(reading, watched),
        *(finding for finding in documents.read(watches_file)[1] if finding.rule == "yaml-key-twice"),
        *_of_content(watched, project, places, environment),
        *consistency.check(watched, _kinds(reading), project, places),
    }
    kept = ignores.apply(list(findings), _texts(project, watches_file, findings))
    return sorted(kept, key=lambda finding: finding.place)


def _kinds(reading: Reading) -> set[GroupVersionKind]:
    """Those of all watches, also of those that are not sound, in every version that is converted to theirs."""
    converted = (replace(watch.gvk, version=version) for watch in reading.watches for version in watch.conversions)
    return {*reading.entries, *converted}


def _of_content(
    watched: list[Watched], project: Path, places: Places, environment: Mapping[str, str]
) -> list[Finding]:
    required, findings = dependencies.read_requirements(project)
    findings += dependencies.missing(required, places)
    findings += pins.check(project, required, places)
    definitions = documents.of_kind(documents.read_manifests(project)[0], "CustomResourceDefinition")
    installed = Installed(places)
    for content, watches in _contents(watched).items():
        reader = Reader(places)
        reader.read(content)
        resources = ansible_content.resources_of(watches, definitions)
        mistakes, plugins = ansible_content.check(reader.closure, installed, places, environment, resources)
        findings += [*reader.findings, *mistakes]
        findings += [finding for watch in watches for finding in admission.check(watch)]
        findings += dependencies.check([*reader.used, *plugins], places, required, redirects())
    return findings


def _contents(watched: list[Watched]) -> dict[Content, list[Watch]]:
    """Each role and playbook that is there, with the watches that run it."""
    found: dict[Content, list[Watch]] = {}
    for item in watched:
        finalizer = item.watch.finalizer
        for content in (item.watch.content, finalizer.content if finalizer else None):
            if content is not None and content.path.exists():
                found.setdefault(content, []).append(item.watch)
    return found


_COMMENTED = (*documents.DIRECTORIES, "roles", "playbooks")
"""Where comments that silence nothing are looked for."""


def _texts(project: Path, watches_file: Path, findings: Iterable[Finding]) -> dict[str, str]:
    """The files that may hold comments for `validate`, by their names."""
    files = {watches_file, *(Path(finding.file) for finding in findings)}
    files |= {file for file in project.iterdir() if file.suffix in documents.YAML}
    files |= {file for name in _COMMENTED for file in documents.yaml_files(project / name)}
    return {shown(file): file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory", nargs="?", default=".", metavar="DIRECTORY", help="the project (default: here)"
    )
    parser.add_argument(
        "--watches-file", default="watches.yaml", metavar="VALUE", help="from DIRECTORY (default: watches.yaml)"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="what is printed (default: text)")
    parser.add_argument("--output", dest="format", choices=FORMATS, help=argparse.SUPPRESS)  # its former name


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print the findings; the exit code is 1 if one of them is an error. Raises SettingsError for no directory."""
    project = documents.project_directory(parsed.directory)
    if is_bundle(project):
        findings = of_bundle.check(project)
    else:
        findings = validate(project, project / parsed.watches_file, environment)
    sys.stdout.write(FORMATS[parsed.format](findings))
    return 1 if count(findings, Severity.ERROR) else 0
