"""The Kubernetes manifests of a project: what is in them, and those that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runner.validate.documents import Document, members, read, yaml_files
from runner.validate.findings import Finding

CRD_DIRECTORIES = ("crds", "config/crd", "deploy/crds")
DIRECTORIES = ("crds", "config", "deploy")


def read_manifests(project: Path) -> tuple[list[Document], list[Finding]]:
    """Every object in the project's manifest directories; a template (with `{{`) is none, and no mistake."""
    documents, findings = [], []
    for directory in DIRECTORIES:
        for path in yaml_files(project / directory):
            found, mistakes = read(path)
            if mistakes and "{{" in path.read_text(encoding="utf-8", errors="replace"):
                continue
            documents += list(_objects(found))
            findings += mistakes
    return documents, findings


def has_crd_directory(project: Path) -> bool:
    return any((project / directory).is_dir() for directory in CRD_DIRECTORIES)


def of_kind(documents: list[Document], *kinds: str) -> list[Document]:
    return [document for document in documents if document.text("kind") in kinds]


def _objects(documents: list[Document]) -> Iterator[Document]:
    for document in documents:
        if document.text("kind") == "List":
            for item in members(document.get("items")):
                yield Document(document.file, item)
        else:
            yield document
