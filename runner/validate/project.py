"""Every check of a project, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runner.config.watchesfile import Reading, read_watches
from runner.errors import WatchesError
from runner.validate import crds, dependencies, manifests, rbac, requirements
from runner.validate.content import Reader
from runner.validate.crds import Watched
from runner.validate.documents import shown
from runner.validate.findings import Finding, Severity, of_problem, warning
from runner.validate.places import IMAGE_HOME, find_places
from runner.validate.redirects import redirects

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
    required, findings = requirements.read_requirements(project)
    findings += requirements.check(required, places)
    return [*reader.findings, *findings, *dependencies.check(reader.used, places, required, redirects())]


def _of_manifests(watched: list[Watched], project: Path) -> list[Finding]:
    found, findings = manifests.read_manifests(project)
    definitions = manifests.of_kind(found, "CustomResourceDefinition")
    if manifests.has_crd_directory(project):
        for item in watched:
            findings += crds.check(item, definitions)
    return [*findings, *rbac.check(watched, found)]
