"""What a project's requirements.yml asks ansible-galaxy to install."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runner.validate.documents import Document, child, entries, members, read, text
from runner.validate.findings import Finding, warning
from runner.validate.places import Places

_COLLECTION = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Requirements:
    """Names of collections and roles, each with the file and line that lists it."""

    collections: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    roles: Mapping[str, tuple[str, int]] = field(default_factory=dict)


def read_requirements(project: Path) -> tuple[Requirements, list[Finding]]:
    """The requirements.yml of the project; empty where there is none."""
    path = next(
        (path for path in (project / "requirements.yml", project / "requirements.yaml") if path.is_file()), None
    )
    documents, findings = read(path) if path else ([], [])
    collections: dict[str, tuple[str, int]] = {}
    roles: dict[str, tuple[str, int]] = {}
    for document in documents[:1]:
        collections.update(_names(document, "collections"))
        roles.update(_names(document, "roles"))
    return Requirements(collections, roles), findings


def check(requirements: Requirements, places: Places) -> Iterator[Finding]:
    """Warns of a required collection that is not installed here; the image will probably have it."""
    for name, (file, line) in requirements.collections.items():
        if _COLLECTION.fullmatch(name) and places.collection(name) is None:
            message = f"{name} is not installed here: run `ansible-galaxy collection install -r {file}`"
            yield warning(file, line, "collections", message)


def _names(document: Document, section: str) -> Iterator[tuple[str, tuple[str, int]]]:
    """The old form of the file is a list of roles."""
    old = section == "roles" and isinstance(document.node.value, list)
    for item in members(document.node if old else document.get(section)):
        name = child(item, "name") if text(child(item, "name")) else child(item, "src")
        named = text(name if entries(item) else item).partition(":")[0]
        if named:
            yield named, (document.file, item.line)
