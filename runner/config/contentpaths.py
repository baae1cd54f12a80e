"""Where the role or playbook that a watch names is found on disk.

The order is that of the Go operator; the result is an absolute real path, so that a symlinked role or a
path relative to the working directory runs as well as it loads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_DEFAULT_COLLECTIONS = "/usr/share/ansible/collections"


Found = tuple[Path | None, list[Path]]
"""What was found, or None, and the places that were looked at, in order."""


def find_playbook(name: str, directory: Path, home: str = "") -> Found:
    """The playbook file. Relative names start at `directory`, which stands for the absolute `home` as well."""
    return _first([directory / name, *_at_home(name, directory, home)])


def find_role(name: str, directory: Path, environment: Mapping[str, str], home: str = "") -> Found:
    """The role's directory; `directory` and `home` as for a playbook."""
    return _first([*_role_places(name, directory, environment), *_at_home(name, directory, home)])


def _first(tried: list[Path]) -> Found:
    found = next((path for path in tried if path.exists()), None)
    return (found.resolve() if found else None), tried


def _at_home(name: str, directory: Path, home: str) -> list[Path]:
    return [directory / name.removeprefix(f"{home}/")] if home and name.startswith(f"{home}/") else []


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
