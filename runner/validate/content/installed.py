"""What Ansible would find here: modules with their options, filters, tests, lookups, and the keywords of tasks.

Files are looked at as Ansible's loader would, and nothing is imported. What cannot be known, because a collection
is not installed here, is answered with UNKNOWABLE or None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from runner.errors import SettingsError
from runner.validate.content import documentation
from runner.validate.content.documentation import Options
from runner.validate.content.places import Places

_BUILTIN = ("ansible.builtin", "ansible.legacy")
_FIELD = re.compile(r"^    (\w+)\s*=\s.*FieldAttribute\((.*)$", re.MULTILINE)
_ALIAS = re.compile(r"alias='(\w+)'")
_SHARED = ("base", "taggable", "collectionsearch")
_OF_TASKS = (*_SHARED, "conditional", "notifiable", "delegatable")
_CLASSES = {
    "task": ("task", *_OF_TASKS),
    "handler": ("task", "handler", *_OF_TASKS),
    "block": ("block", *_OF_TASKS),
    "play": ("play", *_SHARED),
}
"""The files of ansible.playbook that have the keywords."""
_MOST_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Module:
    """A module that is there; `options` is None where they cannot be known. `removed`, `deprecated` say why."""

    name: str
    options: Options | None = None
    removed: str = ""
    deprecated: str = ""
    source: Path | None = None

    def mentions(self, option: str) -> bool:
        """Whether the module's source has that word: it may take an option that it does not document."""
        return self.source is not None and option in documentation.words(self.source)


UNKNOWABLE = Module("")
"""A module of a collection that is not here, or one that the project brings along."""


class Installed:
    """Answers for one project, whose places are given."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._ansible = _ansible()
        self._options: dict[Path, Options | None] = {}

    def keywords(self, of: str) -> frozenset[str]:
        """The keywords of a `task`, `handler`, `block` or `play`."""
        return frozenset().union(*(_fields(self._ansible / f"playbook/{name}.py") for name in _CLASSES[of]))

    def module(self, name: str, own: frozenset[str], collections: tuple[str, ...]) -> Module | None:
        """The module of that name, None if there is none; `collections` are those searched for short names."""
        namespace, _, last = name.rpartition(".")
        if namespace in ("", "ansible.legacy") and (last in own or self._extra("modules", last)):
            return UNKNOWABLE
        if namespace and namespace not in _BUILTIN:
            return self._of_collection(name, _MOST_REDIRECTS)
        searched = collections if not namespace else ()
        for collection in searched:
            found = self._of_collection(f"{collection}.{last}", _MOST_REDIRECTS)
            if found is not None:
                return found
        return self._of_core(last)

    def plugin(self, kind: str, name: str) -> bool | None:
        """Whether a `filter`, `test` or `lookup` is there, None where that cannot be known."""
        namespace, _, last = name.rpartition(".")
        if namespace and namespace not in _BUILTIN:
            return self._has(kind, name, _MOST_REDIRECTS)
        if last in _names(self._ansible / "plugins" / kind, kind) or self._extra(kind, last):
            return True
        redirect = str(_core_route(self._ansible, kind, last).get("redirect", ""))
        return self._has(kind, redirect, _MOST_REDIRECTS) if redirect else False

    def full_name(self, kind: str, name: str) -> str:
        """With its collection, where ansible-core says that a short name is one of a collection's plugins."""
        return name if "." in name else str(_core_route(self._ansible, kind, name).get("redirect", name))

    def suggestions(self, kind: str) -> frozenset[str]:
        """Names of Ansible's own, to find one that was meant."""
        if kind == "modules":
            return frozenset(path.stem for path in (self._ansible / "modules").glob("[a-z]*.py"))
        return _names(self._ansible / "plugins" / kind, kind)

    def names_of(self, collection: str) -> frozenset[str]:
        """The modules of a collection by their full names."""
        if collection in _BUILTIN:
            return frozenset(f"{collection}.{name}" for name in self.suggestions("modules"))
        directory = self._places.collection(collection)
        paths = (directory / "plugins/modules").rglob("[a-z]*.py") if directory else ()
        return frozenset(f"{collection}.{path.stem}" for path in paths)

    def _of_core(self, name: str) -> Module | None:
        path = self._ansible / "modules" / f"{name}.py"
        if path.is_file():
            options = self._options_of(path)
            return Module(f"ansible.builtin.{name}", options, source=path)
        route = _core_route(self._ansible, "modules", name) or _core_route(self._ansible, "action", name)
        return self._routed(f"ansible.builtin.{name}", route, _MOST_REDIRECTS)

    def _of_collection(self, name: str, redirects: int) -> Module | None:
        namespace, collection, *rest = name.split(".")
        directory = self._places.collection(f"{namespace}.{collection}") if rest else None
        if f"{namespace}.{collection}" in _BUILTIN:
            return self._of_core(rest[-1])
        if directory is None or not (directory / "plugins").is_dir():
            return UNKNOWABLE
        route = _route(directory / "meta/runtime.yml", "modules", ".".join(rest)) or _route(
            directory / "meta/runtime.yml", "action", ".".join(rest)
        )
        routed = self._routed(name, route, redirects)
        if routed is not None:
            return routed
        deprecated = str((route.get("deprecation") or {}).get("warning_text") or "")
        path = _module_file(directory / "plugins/modules", rest)
        options = self._options_of(path) if path else None
        there = path or (directory / "plugins/action" / f"{rest[-1]}.py").is_file()
        source = path.with_suffix(".py") if path else None
        return Module(name, options, deprecated=deprecated.strip(), source=source) if there else None

    def _routed(self, name: str, route: Mapping[str, Any], redirects: int) -> Module | None:
        tombstone = route.get("tombstone")
        if isinstance(tombstone, Mapping):
            return Module(name, removed=str(tombstone.get("warning_text") or "it was removed").strip())
        target = str(route.get("redirect") or "")
        return self._of_collection(target, redirects - 1) if target.count(".") >= 2 and redirects else None

    def _has(self, kind: str, name: str, redirects: int) -> bool | None:
        namespace, collection, *rest = name.split(".")
        if f"{namespace}.{collection}" in _BUILTIN:
            return self.plugin(kind, rest[-1])
        directory = self._places.collection(f"{namespace}.{collection}") if rest else None
        if directory is None or not (directory / "plugins").is_dir():
            return None
        target = str(_route(directory / "meta/runtime.yml", kind, ".".join(rest)).get("redirect") or "")
        if target and redirects:
            return self._has(kind, target, redirects - 1)
        return rest[-1] in _names(directory / "plugins" / kind, kind)

    def _options_of(self, path: Path) -> Options | None:
        if path not in self._options:
            self._options[path] = documentation.options_of(path, self._fragment)
        return self._options[path]

    def _fragment(self, name: str) -> Mapping[str, Any] | None:
        """The options of a documentation fragment: `files`, `files.part`, `a.b.files`, `a.b.files.part`."""
        parts = name.removeprefix("ansible.builtin.").split(".")
        directory: Path | None = self._ansible / "plugins/doc_fragments"
        if len(parts) > 2:  # of a collection
            collection = self._places.collection(".".join(parts[:2]))
            directory, parts = collection and collection / "plugins/doc_fragments", parts[2:]
        if directory is None:
            return None
        attribute = parts[1].upper() if len(parts) > 1 else "DOCUMENTATION"
        return documentation.fragment_options(directory / f"{parts[0]}.py", attribute)

    def _extra(self, kind: str, name: str) -> bool:
        """Whether one of the directories outside of collections that Ansible is told to search has it."""
        return any(
            (place / f"{name}.py").is_file() if kind == "modules" else name in _names(place, kind)
            for place in self._places.plugins.get(kind, ())
        )


@cache
def _ansible() -> Path:
    """Where ansible-core is; it comes with the operator."""
    spec = find_spec("ansible")
    if spec is None or spec.origin is None:
        raise SettingsError("ansible-core is not installed beside the operator: install it")
    return Path(spec.origin).parent


def _module_file(modules: Path, parts: list[str]) -> Path | None:
    """The file that documents a module: a file of YAML beside it goes first."""
    base = modules.joinpath(*parts[:-1])
    return next(
        (path for end in ("yml", "yaml", "py", "ps1") if (path := base / f"{parts[-1]}.{end}").is_file()), None
    )


@cache
def _fields(path: Path) -> frozenset[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    found = [(name, rest) for name, rest in _FIELD.findall(text) if "private=True" not in rest]
    return frozenset(alias[1] if (alias := _ALIAS.search(rest)) else name for name, rest in found)


@cache
def _names(directory: Path, kind: str) -> frozenset[str]:
    """The plugins of a directory; its Python files hold several filters or tests each, but one lookup."""
    files = sorted(path for path in directory.glob("*") if path.suffix in (".py", ".yml", ".yaml"))
    inner = [documentation.keys(path) for path in files if path.suffix == ".py" and kind != "lookup"]
    return frozenset(path.stem for path in files).union(*inner)


@cache
def _core_route(ansible: Path, kind: str, name: str) -> Mapping[str, Any]:
    """What ansible-core's own routing says; a file of ten thousand lines, of which one entry is parsed."""
    try:
        text = (ansible / "config/ansible_builtin_runtime.yml").read_text(encoding="utf-8")
    except OSError:
        return {}
    section = re.search(rf"^  {kind}:\n(.*?)(?=^ {{0,2}}\w)", text, re.MULTILINE | re.DOTALL)
    entry = section and re.search(rf"^    {re.escape(name)}:\n((?:      .*\n)+)", section[1], re.MULTILINE)
    return documentation.mapping(entry[1]) if entry else {}


@cache
def _runtime(path: Path) -> Mapping[str, Any]:
    try:
        return documentation.mapping(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return {}


def _route(path: Path, kind: str, name: str) -> Mapping[str, Any]:
    routing = _runtime(path).get("plugin_routing") or {}
    return (routing.get(kind) or {}).get(name) or {}
