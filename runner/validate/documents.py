"""The YAML documents and manifests of a project."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from runner.config.yamlfile import UNREADABLE, VAULT, Located, duplicate_keys, read_all_yaml
from runner.errors import Problem, SettingsError, WatchesError
from runner.validate.findings import Finding, of_problem

YAML = (".yml", ".yaml")
_PATCH = re.compile(r"(^|[-_.])patch(es)?([-_.]|$)")
DIRECTORIES = ("crds", "config", "deploy")
SAMPLE_DIRECTORIES = ("samples", "examples", "molecule")


def project_directory(given: str) -> Path:
    """The absolute path of a project. Raises SettingsError where it is no directory."""
    project = Path(given).resolve()
    if not project.is_dir():
        raise SettingsError(f"{given} is not a directory: name the one that holds watches.yaml")
    return project


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document; `file` is the path as people are shown it."""

    file: str
    node: Located

    def get(self, *names: str) -> Located:
        return child(self.node, *names)

    def text(self, *names: str) -> str:
        return text(self.get(*names))


def child(node: Located, *names: str) -> Located:
    """The value down that path; a null with the line of the last value on the way where it ends early."""
    for name in names:
        node = entries(node).get(name) or Located(None, node.line)
    return node


def entries(node: Located) -> dict[str, Located]:
    return node.value if isinstance(node.value, dict) else {}


def members(node: Located) -> list[Located]:
    return node.value if isinstance(node.value, list) else []


def text(node: Located) -> str:
    return node.value if isinstance(node.value, str) else ""


def texts(node: Located) -> list[str]:
    return [text(member) for member in members(node)]


def read(path: Path) -> tuple[list[Document], list[Finding]]:
    """The documents of a file, and what is wrong: why there are none, or keys that are there twice.

    An encrypted file has none.
    """
    file = shown(path)
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return [], [of_problem(Problem(file, 1, "", f"cannot be read: {error}", UNREADABLE))]
    documents, findings = _parsed(content, file)
    return list(documents), list(findings)


@lru_cache(maxsize=1024)
def _parsed(content: str, file: str) -> tuple[tuple[Document, ...], tuple[Finding, ...]]:
    """What `read` says of a file's content; remembered, for several checks read the same files."""
    if content.startswith(VAULT):
        return (), ()
    try:
        nodes = read_all_yaml(content, file)
    except WatchesError as error:
        return (), tuple(of_problem(problem) for problem in error.problems)
    again = duplicate_keys(content, file)
    return tuple(Document(file, node) for node in nodes), tuple(of_problem(problem) for problem in again)


def yaml_files(directory: Path) -> Iterator[Path]:
    """Every YAML file below a directory, in order; none where there is no such directory."""
    return iter(sorted(path for path in directory.rglob("*") if path.suffix in YAML and path.is_file()))


def shown(path: Path) -> str:
    """Relative where it is below the working directory, so that it is short and can be clicked."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def read_manifests(project: Path) -> tuple[list[Document], list[Finding]]:
    """Every object in the project's manifest directories; a template (with `{{`) is none, and no mistake."""
    documents, findings = [], []
    for directory in DIRECTORIES:
        for path in yaml_files(project / directory):
            found, mistakes = read(path)
            if mistakes and not found and "{{" in path.read_text(encoding="utf-8", errors="replace"):
                continue
            documents += list(_objects(found))
            findings += mistakes
    return documents, findings


def read_samples(project: Path) -> list[Document]:
    """The objects in the directories where a project may keep custom resources, beside its manifests."""
    files = [file for directory in SAMPLE_DIRECTORIES for file in yaml_files(project / directory)]
    return [document for file in files for document in _objects(read(file)[0])]


def of_kind(documents: list[Document], *kinds: str) -> list[Document]:
    return [document for document in documents if document.text("kind") in kinds]


def _objects(documents: list[Document]) -> Iterator[Document]:
    """The objects, those of Lists included, without the parts of objects that kustomize merges into others."""
    for document in documents:
        if _is_patch(document):
            continue
        if document.text("kind") == "List":
            for item in members(document.get("items")):
                yield Document(document.file, item)
        else:
            yield document


def _is_patch(document: Document) -> bool:
    """Whether its file or directory says so; a CRD without names and versions can be nothing else."""
    is_part = document.text("kind") == "CustomResourceDefinition" and not (
        entries(document.get("spec", "names")) or members(document.get("spec", "versions"))
    )
    return is_part or any(_PATCH.search(part) for part in Path(document.file).parts[-2:])
