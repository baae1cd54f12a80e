"""Where Ansible would look for roles and collections: environment, ansible.cfg, defaults, site-packages."""

from __future__ import annotations

import configparser
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

IMAGE_HOME = "/opt/ansible"
"""Where images keep a project: watches and playbooks name roles below it."""
BUNDLED = Path(__file__).parent.parent / "collections"
_SYSTEM = Path("/etc/ansible")


@dataclass(frozen=True, slots=True)
class Places:
    """Directories, in the order they are looked at. `environment_roles` are those of ANSIBLE_ROLES_PATH only."""

    project: Path
    environment_roles: tuple[Path, ...]
    roles: tuple[Path, ...]
    collections: tuple[Path, ...]

    def collection(self, name: str, beside: Path | None = None) -> Path | None:
        """The directory of `namespace.name`; `beside` is a playbook's directory, whose own come first."""
        own = [beside / "collections"] if beside else []
        return first_directory(
            place / "ansible_collections" / Path(*name.split(".")) for place in (*own, *self.collections)
        )


def find_places(project: Path, environment: Mapping[str, str]) -> Places:
    """`environment` is that of the runs. A broken ansible.cfg counts as an empty one."""
    home = Path(environment.get("HOME") or "/")
    configured = _configured(project, environment, home)
    roles = _paths(environment.get("ANSIBLE_ROLES_PATH", ""), project)
    collections = _paths(environment.get("ANSIBLE_COLLECTIONS_PATH", ""), project)
    default_roles = (home / ".ansible/roles", Path("/usr/share/ansible/roles"), _SYSTEM / "roles")
    default_collections = (home / ".ansible/collections", Path("/usr/share/ansible/collections"))
    return Places(
        project,
        environment_roles=roles,
        roles=roles or configured.get("roles_path") or default_roles,
        collections=(
            *(collections or configured.get("collections_path") or default_collections),
            *(Path(place) for place in sys.path if place.endswith("-packages")),
            BUNDLED,
        ),
    )


def first_directory(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if path.is_dir()), None)


def _configured(project: Path, environment: Mapping[str, str], home: Path) -> dict[str, tuple[Path, ...]]:
    """What the first ansible.cfg says; the project's own is what its image will have."""
    named = environment.get("ANSIBLE_CONFIG", "")
    files = [
        *([Path(named)] if named else []),
        project / "ansible.cfg",
        home / ".ansible.cfg",
        _SYSTEM / "ansible.cfg",
    ]
    file = next((file for file in files if file.is_file()), None)
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read([file] if file else [])
        values = dict(parser["defaults"])
    except (configparser.Error, KeyError, UnicodeDecodeError):
        return {}
    return {
        name: _paths(value, file.parent if file else project) for name, value in values.items() if "_path" in name
    }


def _paths(text: str, base: Path) -> tuple[Path, ...]:
    return tuple(base / Path(place.strip()).expanduser() for place in text.split(":") if place.strip())
