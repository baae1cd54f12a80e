"""Reads the roles and playbooks that watches lead to, and finds roles and collections where a run would."""

from __future__ import annotations

import configparser
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from runner.config.watches import Content
from runner.config.yamlfile import Located
from runner.validate import uses
from runner.validate.documents import Document, read, shown, yaml_files
from runner.validate.findings import Finding
from runner.validate.uses import Use, What

_SECTION = re.compile(r"^  modules:\n(.*?)(?=^  \w)", re.MULTILINE | re.DOTALL)
_REDIRECT = re.compile(r"^    (\S+):\n      redirect: (\S+)$", re.MULTILINE)


IMAGE_HOME = "/opt/ansible"
"""Where images keep a project: watches and playbooks name roles below it."""
_SYSTEM = Path("/etc/ansible")
_ROLE_DIRECTORIES = ("tasks", "handlers", "meta", "defaults", "vars")


@cache
def redirects() -> dict[str, str]:
    """Short name to full name; empty where ansible-core is not installed. Its file is read, it is not imported."""
    spec = find_spec("ansible")
    if spec is None or spec.origin is None:
        return {}
    try:
        text = (Path(spec.origin).parent / "config/ansible_builtin_runtime.yml").read_text(encoding="utf-8")
    except OSError:
        return {}
    section = _SECTION.search(text)
    return dict(_REDIRECT.findall(section[1])) if section else {}


BUNDLED = Path(__file__).parent.parent / "collections"


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


@dataclass(frozen=True, slots=True)
class Used:
    """A use, the file it is in, where roles are looked for from there, and the playbook's directory if any."""

    use: Use
    file: str
    role_places: tuple[Path, ...]
    beside: Path | None
    own_modules: frozenset[str]


class Reader:
    """Reads each role and each playbook once; `used` and `findings` grow with what is read."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._seen: set[Path] = set()
        self.used: list[Used] = []
        self.findings: list[Finding] = []

    def read(self, content: Content) -> None:
        """Everything that a watch's content leads to."""
        if content.is_role:
            self._role(content.path, (content.path.parent, *self._places.environment_roles), None)
        else:
            self._playbook(content.path)

    def _playbook(self, path: Path) -> None:
        if self._is_new(path):
            own = (path.parent / "roles", path.parent, *self._places.roles, self._places.project / "roles")
            self._file(path, uses.of_plays, own, path.parent, _modules(path.parent, self._places.project))

    def _role(self, path: Path, role_places: tuple[Path, ...], beside: Path | None) -> None:
        if not self._is_new(path):
            return
        if not path.is_dir():
            self.findings.append(
                Finding("not-a-role", shown(path), 1, "", "is not a role: it must be a directory")
            )
            return
        if first_directory(path / name for name in _ROLE_DIRECTORIES) is None:
            self.findings.append(
                Finding("not-a-role", shown(path), 1, "", "is not a role: it has neither tasks nor meta")
            )
        elif not any((path / "tasks" / name).exists() for name in ("main.yml", "main.yaml", "main", "main.json")):
            self.findings.append(
                Finding("role-without-tasks", shown(path), 1, "", "does nothing itself: it has no tasks/main.yml")
            )
        modules = _modules(path, path.parent, self._places.project)
        for name in _ROLE_DIRECTORIES:
            of_file = {"tasks": uses.of_tasks, "handlers": uses.of_tasks, "meta": uses.of_meta}.get(name, _nothing)
            for file in yaml_files(path / name):
                self._file(file, of_file, (path.parent, *role_places), beside, modules)

    def _file(
        self,
        path: Path,
        uses_of: Callable[[Located], Iterator[Use]],
        role_places: tuple[Path, ...],
        beside: Path | None,
        modules: frozenset[str],
    ) -> None:
        documents, findings = read(path)
        self.findings += findings
        for document in documents[:1]:
            self.findings += list(_shape(document, uses_of))
            for use in uses_of(document.node):
                self.used.append(Used(use, document.file, role_places, beside, modules))
                self._follow(use, path, role_places, beside)

    def _follow(self, use: Use, path: Path, role_places: tuple[Path, ...], beside: Path | None) -> None:
        if use.what is What.ROLE:
            found = find_role(use.name, role_places, self._places, beside)
            if found and found.resolve().is_relative_to(self._places.project):  # else it is somebody else's work
                self._role(found, role_places, beside)
        elif use.what is What.FILE and (path.parent / use.name).is_file():
            included = path.parent / use.name
            if "import_playbook" in use.field:
                self._playbook(included)
            elif self._is_new(included) and beside:  # a role's tasks are all read anyway
                modules = _modules(beside, self._places.project)
                self._file(included, uses.of_tasks, role_places, beside, modules)

    def _is_new(self, path: Path) -> bool:
        real = path.resolve()
        new = real not in self._seen
        self._seen.add(real)
        return new


def find_role(name: str, role_places: tuple[Path, ...], places: Places, beside: Path | None) -> Path | None:
    """The directory of a role that is used by name: a path, a directory of the roles path, or of a collection."""
    if name.count(".") >= 2:
        namespace, collection, *role = name.split(".")
        parent = places.collection(f"{namespace}.{collection}", beside)
        found = parent and parent / "roles" / Path(*role)
        if found and found.is_dir():
            return found
    at_home = places.project / name.removeprefix(f"{IMAGE_HOME}/")
    return first_directory(
        [*(place / name for place in role_places), *([at_home] if name.startswith("/") else [])]
    )


def _shape(document: Document, uses_of: Callable[[Located], Iterator[Use]]) -> Iterator[Finding]:
    node = document.node
    if uses_of in (uses.of_tasks, uses.of_plays):
        what = "tasks" if uses_of is uses.of_tasks else "plays"
        if node.value is not None and not isinstance(node.value, list):
            yield Finding("not-a-list", document.file, node.line, "", f"must be a list of {what}")
        for index, item in enumerate(node.value if isinstance(node.value, list) else ()):
            if not isinstance(item.value, dict):
                yield Finding(
                    "not-a-list", document.file, item.line, f"[{index}]", f"must be a map: one of the {what}"
                )


def _nothing(_node: Located) -> Iterator[Use]:
    return iter(())


def _modules(*directories: Path) -> frozenset[str]:
    """Modules and action plugins that roles and projects bring along."""
    places = [directory / name for directory in directories for name in ("library", "plugins/modules")]
    places += [directory / "action_plugins" for directory in directories]
    return frozenset(path.stem for place in places if place.is_dir() for path in place.glob("*.py"))
