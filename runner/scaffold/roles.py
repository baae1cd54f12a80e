"""Where the role of a kind comes from: the template, a directory, or a collection."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.errors import SettingsError
from runner.validate.content.places import find_places

ROLES = Path("roles")
_OF_COLLECTION = re.compile(r"(\w+\.\w+)\.(\w+)")


@dataclass(frozen=True, slots=True)
class Source:
    """`role` is what watches.yaml names; `copied` a directory to copy to `roles/`, `collection` what brings it."""

    role: str
    copied: Path | None = None
    collection: str = ""


def find_role(given: str, project: Path, environment: Mapping[str, str]) -> Source:
    """The role of `--from-role`. Raises SettingsError where there is none."""
    path = Path(given).expanduser()
    if path.is_dir():
        return _of_directory(path.resolve(), project)
    found = _OF_COLLECTION.fullmatch(given)
    if found is None or os.sep in given:
        raise SettingsError(
            f"--from-role {given}: there is no such directory; give that of a role, or a collection's role, such"
            " as grafana.grafana.alloy"
        )
    collection, role = found.groups()
    directory = find_places(project, environment).collection(collection)
    if directory is None:
        raise SettingsError(
            f"--from-role {given}: the collection {collection} is not installed here: run"
            f" `ansible-galaxy collection install {collection}`"
        )
    if not _is_role(directory / ROLES / role):
        there = sorted(path.name for path in (directory / ROLES).glob("*") if _is_role(path))
        raise SettingsError(
            f"--from-role {given}: the collection has no such role; it has {', '.join(there) or 'none'}"
        )
    return Source(given, collection=collection)


def _of_directory(path: Path, project: Path) -> Source:
    if not _is_role(path):
        raise SettingsError(f"--from-role {path} is not a role: it has no tasks/main.yml")
    return Source(path.name, None if path.parent == project / ROLES else path)


def _is_role(path: Path) -> bool:
    return any((path / "tasks" / name).is_file() for name in ("main.yml", "main.yaml"))
