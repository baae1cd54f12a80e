"""Where a run would look for roles, collections and plugins: environment, ansible.cfg, Ansible's defaults."""

from __future__ import annotations

import configparser
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

IMAGE_HOME = "/opt/ansible"
"""Where images keep a project: watches and playbooks name roles below it."""
BUNDLED = Path(__file__).parents[2] / "collections"
_SYSTEM = Path("/etc/ansible")
_SHARED = Path("/usr/share/ansible")
_PLUGINS = {
    "modules": ("library", "ANSIBLE_LIBRARY", "library"),
    "filter": ("filter_plugins", "ANSIBLE_FILTER_PLUGINS", "filter_plugins"),
    "test": ("test_plugins", "ANSIBLE_TEST_PLUGINS", "test_plugins"),
    "lookup": ("lookup_plugins", "ANSIBLE_LOOKUP_PLUGINS", "lookup_plugins"),
}
"""Of each kind of plugin: its setting in ansible.cfg, in the environment, and its directory beside roles."""


@dataclass(frozen=True, slots=True)
class Places:
    """Directories, in the order they are looked at. `environment_roles` are those of ANSIBLE_ROLES_PATH only.

    `plugins` are those outside of collections, by kind.
    """

    project: Path
    environment_roles: tuple[Path, ...]
    roles: tuple[Path, ...]
    collections: tuple[Path, ...]
    plugins: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    jinja_extensions: bool = False

    def collection(self, name: str, beside: Path | None = None) -> Path | None:
        """The directory of `namespace.name`; `beside` is a playbook's directory, whose own come first."""
        own = [beside / "collections"] if beside else []
        return first_directory(
            place / "ansible_collections" / Path(*name.split(".")) for place in (*own, *self.collections)
        )


def find_places(project: Path, environment: Mapping[str, str]) -> Places:
    """`environment` is that of the runs. A broken ansible.cfg counts as an empty one."""
    home = Path(environment.get("HOME") or "/")
    base, configured = _configured(project, environment, home)
    roles = _paths(environment.get("ANSIBLE_ROLES_PATH", ""), project)
    collections = _paths(environment.get("ANSIBLE_COLLECTIONS_PATH", ""), project)
    default_roles = (home / ".ansible/roles", _SHARED / "roles", _SYSTEM / "roles")
    default_collections = (home / ".ansible/collections", _SHARED / "collections")
    return Places(
        project,
        environment_roles=roles,
        roles=roles or _paths(configured.get("roles_path", ""), base) or default_roles,
        collections=(
            *(collections or _paths(configured.get("collections_path", ""), base) or default_collections),
            *(Path(place) for place in sys.path if place.endswith("-packages")),
            BUNDLED,
        ),
        plugins={
            kind: (
                *_paths(configured.get(setting, ""), base),
                *_paths(environment.get(variable, ""), project),
                *(place / "plugins" / kind for place in (home / ".ansible", _SHARED)),
                *_within(project, directory),
            )
            for kind, (setting, variable, directory) in _PLUGINS.items()
        },
        jinja_extensions="jinja2_extensions" in configured or "ANSIBLE_JINJA2_EXTENSIONS" in environment,
    )


def first_directory(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if path.is_dir()), None)


def _within(project: Path, directory: str) -> Iterator[Path]:
    """Directories of plugins beside roles and playbooks, which are at most two levels down."""
    return (path for depth in ("", "*/", "*/*/") for path in sorted(project.glob(depth + directory)))


def _configured(project: Path, environment: Mapping[str, str], home: Path) -> tuple[Path, dict[str, str]]:
    """What the first ansible.cfg says, and its directory; the project's own is what its image will have."""
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
        return (file.parent if file else project), dict(parser["defaults"])
    except (configparser.Error, KeyError, UnicodeDecodeError):
        return project, {}


def _paths(text: str, base: Path) -> tuple[Path, ...]:
    return tuple(base / Path(place.strip()).expanduser() for place in text.split(":") if place.strip())
