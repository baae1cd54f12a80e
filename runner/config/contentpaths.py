"""Where the role or playbook that a watch names is found on disk.

The order is that of the Go operator; the result is an absolute real path, so that a symlinked role or a
path relative to the working directory runs as well as it loads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_DEFAULT_COLLECTIONS = "/usr/share/ansible/collections"


def find_playbook(name: str, directory: Path) -> tuple[Path | None, list[Path]]:
    """The playbook file, or None, and the places that were looked at; relative names start at `directory`."""
    path = directory / name
    return (path.resolve() if path.exists() else None), [path]


def find_role(name: str, directory: Path, environment: Mapping[str, str]) -> tuple[Path | None, list[Path]]:
    """The role's directory, or None, and the places that were looked at, in order."""
    tried = list(_role_places(name, directory, environment))
    found = next((path for path in tried if path.exists()), None)
    return (found.resolve() if found else None), tried


def _role_places(name: str, directory: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    if name.startswith("/"):
        yield Path(name)
        return
    if re.fullmatch(r"[^./]+\.[^./]+\.[^./]+", name):
        namespace, collection, role = name.split(".")
        for place in _collection_directories(environment):
            yield directory / place / "ansible_collections" / namespace / collection / "roles" / role
    for place in filter(None, environment.get("ANSIBLE_ROLES_PATH", "").split(":")):
        yield directory / place / name
        yield directory / place / "roles" / name
    yield directory / "roles" / name
    yield directory / name


def _collection_directories(environment: Mapping[str, str]) -> list[str]:
    configured = environment.get("ANSIBLE_COLLECTIONS_PATH", "")
    if configured:
        return [place for place in configured.split(":") if place]
    home = environment.get("HOME", "")
    return [_DEFAULT_COLLECTIONS, *([f"{home}/.ansible/collections"] if home else [])]
