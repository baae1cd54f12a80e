"""Reads the roles and playbooks that watches lead to, and finds roles and collections where a run would."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from runner.config.watches import Content
from runner.config.yamlfile import Located
from runner.validate.content import uses
from runner.validate.content.closure import Closure, Source, collections_of
from runner.validate.content.places import IMAGE_HOME, Places, first_directory
from runner.validate.content.uses import Use, What
from runner.validate.documents import Document, members, read, shown, yaml_files
from runner.validate.findings import Finding

_SECTION = re.compile(r"^  modules:\n(.*?)(?=^  \w)", re.MULTILINE | re.DOTALL)
_REDIRECT = re.compile(r"^    (\S+):\n      redirect: (\S+)$", re.MULTILINE)


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


@dataclass(frozen=True, slots=True)
class Used:
    """A use, the file it is in, where roles are looked for from there, and the playbook's directory if any."""

    use: Use
    file: str
    role_places: tuple[Path, ...]
    beside: Path | None
    own_modules: frozenset[str]


_USES: Mapping[str, Callable[[Located], Iterator[Use]]] = {
    "plays": uses.of_plays,
    "tasks": uses.of_tasks,
    "handlers": uses.of_tasks,
    "meta": uses.of_meta,
}


@dataclass(frozen=True, slots=True)
class _Around:
    """Where a file belongs: its role if it is of one, where roles are looked for, the playbook's directory."""

    role: Path | None
    role_places: tuple[Path, ...]
    beside: Path | None
    own_modules: frozenset[str]
    collections: tuple[str, ...] = ()


class Reader:
    """Reads each role and playbook of one content once; `used`, `findings`, `closure` grow with what is read."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._seen: set[Path] = set()
        self.used: list[Used] = []
        self.findings: list[Finding] = []
        self.closure = Closure()

    def read(self, content: Content) -> None:
        """Everything that a watch's content leads to."""
        if content.is_role:
            self._role(content.path, (content.path.parent, *self._places.environment_roles), None)
        else:
            self._playbook(content.path)

    def _playbook(self, path: Path) -> None:
        if self._is_new(path):
            own = (path.parent / "roles", path.parent, *self._places.roles, self._places.project / "roles")
            modules = _modules(path.parent, self._places.project)
            self._file(path, "plays", _Around(None, own, path.parent, modules))

    def _role(self, path: Path, role_places: tuple[Path, ...], beside: Path | None) -> None:
        if not self._is_new(path):
            return
        self.findings += _role_shape(path)
        modules = _modules(path, path.parent, self._places.project)
        around = _Around(path, (path.parent, *role_places), beside, modules, collections_of(path))
        for name in _ROLE_DIRECTORIES:
            for file in yaml_files(path / name):
                self._file(file, name, around)

    def _file(self, path: Path, kind: str, around: _Around) -> None:
        documents, findings = read(path)
        self.findings += findings
        for document in documents[:1]:
            self.findings += list(_shape(document, kind))
            source = Source(
                kind, path, document, around.role, around.beside, around.own_modules, around.collections
            )
            self.closure.sources.append(source)
            for use in _USES.get(kind, _nothing)(document.node):
                self.used.append(Used(use, document.file, around.role_places, around.beside, around.own_modules))
                self._follow(use, path, around)

    def _follow(self, use: Use, path: Path, around: _Around) -> None:
        if use.what is What.ROLE:
            found = find_role(use.name, around.role_places, self._places, around.beside)
            if found is None:
                self.closure.hidden = True
            elif found.resolve().is_relative_to(self._places.project):
                self._role(found, around.role_places, around.beside)
            else:  # somebody else's work
                self.closure.elsewhere.add(found)
        elif use.what is What.FILE and (path.parent / use.name).is_file():
            included = path.parent / use.name
            if "import_playbook" in use.field:
                self._playbook(included)
            elif self._is_new(included) and around.beside and not around.role:  # a role's are all read anyway
                self._file(included, "handlers" if ".handlers[" in use.field else "tasks", around)

    def _is_new(self, path: Path) -> bool:
        real = path.resolve()
        new = real not in self._seen
        self._seen.add(real)
        return new


def _role_shape(path: Path) -> Iterator[Finding]:
    """What is wrong with a role as a directory."""
    file = shown(path)
    if not path.is_dir():
        yield Finding("not-a-role", file, 1, "", "is not a role: it must be a directory")
    elif first_directory(path / name for name in _ROLE_DIRECTORIES) is None:
        yield Finding("not-a-role", file, 1, "", "is not a role: it has neither tasks nor meta")
    elif not any((path / "tasks" / name).exists() for name in ("main.yml", "main.yaml", "main", "main.json")):
        yield Finding("role-without-tasks", file, 1, "", "does nothing itself: it has no tasks/main.yml")


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


def _shape(document: Document, kind: str) -> Iterator[Finding]:
    node = document.node
    what = {"plays": "plays", "tasks": "tasks", "handlers": "tasks"}.get(kind)
    if what is None:
        return
    if node.value is not None and not isinstance(node.value, list):
        yield Finding("not-a-list", document.file, node.line, "", f"must be a list of {what}")
    for index, item in enumerate(members(node)):
        if not isinstance(item.value, dict):
            yield Finding(
                "not-a-list", document.file, item.line, f"[{index}]", f"must be a map: one of the {what}"
            )


def _nothing(_node: Located) -> Iterator[Use]:
    return iter(())


def _modules(*directories: Path) -> frozenset[str]:
    """Modules, in whatever language, and action plugins that roles and projects bring along."""
    places = [directory / name for directory in directories for name in ("library", "plugins/modules")]
    places += [directory / "action_plugins" for directory in directories]
    return frozenset(path.stem for place in places if place.is_dir() for path in place.iterdir() if path.is_file())
