"""What a project's requirements.yml asks ansible-galaxy to install."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.validate.content.places import BUNDLED, Places
from runner.validate.content.reader import Used, find_role
from runner.validate.content.uses import What
from runner.validate.documents import Document, child, entries, members, read, shown, text
from runner.validate.findings import Finding

_COLLECTION = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*")


_FULL_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-zA-Z_][a-zA-Z0-9_]*){2,}")
_ALWAYS_THERE = ("ansible.builtin", "ansible.legacy")


@dataclass(frozen=True, slots=True)
class Requirements:
    """Names of collections and roles, each with the file and line that lists it."""

    collections: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    roles: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    file: str = ""


def read_requirements(project: Path) -> tuple[Requirements, list[Finding]]:
    """The requirements.yml of the project; empty where there is none."""
    path = next(
        (path for path in (project / "requirements.yml", project / "requirements.yaml") if path.is_file()), None
    )
    documents, findings = read(path) if path else ([], [])
    collections: dict[str, tuple[str, int]] = {}
    roles: dict[str, tuple[str, int]] = {}
    for document in documents[:1]:
        collections.update(_names(document, "collections"))
        roles.update(_names(document, "roles"))
    return Requirements(collections, roles, shown(path) if path else ""), findings


def missing(requirements: Requirements, places: Places) -> Iterator[Finding]:
    """Warns of a required collection that is not installed here; the image will probably have it."""
    for name, (file, line) in requirements.collections.items():
        if _COLLECTION.fullmatch(name) and places.collection(name) is None:
            message = f"{name} is not installed here: run `ansible-galaxy collection install -r {file}`"
            yield Finding("collection-not-installed", file, line, "collections", message)


def _names(document: Document, section: str) -> Iterator[tuple[str, tuple[str, int]]]:
    """The old form of the file is a list of roles."""
    old = section == "roles" and isinstance(document.node.value, list)
    for item in members(document.node if old else document.get(section)):
        name = child(item, "name") if text(child(item, "name")) else child(item, "src")
        named = text(name if entries(item) else item).partition(":")[0]
        if named:
            yield named, (document.file, item.line)


def check(
    used: Sequence[Used], places: Places, requirements: Requirements, redirects: Mapping[str, str]
) -> Iterator[Finding]:
    """One finding for each use of something that is neither installed nor required."""
    searched = {use.file for use in used if use.use.what is What.COLLECTION}
    for item in used:
        if item.use.what is What.ROLE:
            yield from _role(item, places, requirements)
        short_names = {} if item.file in searched else redirects
        collection = _collection(item, short_names)
        if not collection or collection in _ALWAYS_THERE or collection in requirements.collections:
            continue
        found = places.collection(collection, item.beside)
        if found and requirements.file and _comes_from_elsewhere(found, places, item):
            if collection not in with_others(requirements.collections, places):
                what = _what(item, short_names)
                message = f"{what} needs the collection {collection}, which is here and not in {requirements.file}"
                yield _finding("collection-unlisted", item, f"{message}: add it, or the image may lack it")
        elif found is None:
            yield _finding(
                "collection-missing",
                item,
                f"{_what(item, short_names)} needs the collection {collection}, {_missing(places)}",
            )


def _comes_from_elsewhere(found: Path, places: Places, item: Used) -> bool:
    """Whether a collection is neither the operator's nor the project's own."""
    own = [BUNDLED, places.project, *([item.beside] if item.beside else [])]
    return not any(found.is_relative_to(place) for place in own)


def with_others(names: Iterable[str], places: Places) -> set[str]:
    """These collections, and those that they bring along."""
    found: set[str] = set()
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        directory = places.collection(name) if name not in found and _COLLECTION.fullmatch(name) else None
        found.add(name)
        wanted += _needs(directory / "MANIFEST.json") if directory else []
    return found


def _needs(manifest: Path) -> list[str]:
    try:
        information = json.loads(manifest.read_text(encoding="utf-8"))["collection_info"]
        return list(information.get("dependencies") or {})
    except (OSError, ValueError, KeyError, AttributeError):
        return []


def _role(item: Used, places: Places, requirements: Requirements) -> Iterator[Finding]:
    name = item.use.name
    known = name in requirements.roles or _of_collection_elsewhere(name, places, item)
    if not known and find_role(name, item.role_places, places, item.beside) is None:
        looked = ", ".join(dict.fromkeys(map(str, item.role_places)))
        yield _finding("role-missing", item, f"role {name} was not found; looked in {looked}")


def _of_collection_elsewhere(name: str, places: Places, item: Used) -> bool:
    """Whether the role's collection is not installed: that is said of the collection instead."""
    return bool(_FULL_NAME.fullmatch(name)) and places.collection(_first_two(name), item.beside) is None


def _collection(item: Used, redirects: Mapping[str, str]) -> str:
    """The collection that a use needs, or ""."""
    name = item.use.name
    match item.use.what:
        case What.COLLECTION:
            return name
        case What.MODULE if "." not in name and name not in item.own_modules and name in redirects:
            return _first_two(redirects[name])
        case What.MODULE | What.ROLE | What.FILTER | What.TEST | What.LOOKUP if _FULL_NAME.fullmatch(name):
            return "" if item.use.what is What.ROLE and _has_path(item) else _first_two(name)
        case _:
            return ""


def _has_path(item: Used) -> bool:
    return any((place / item.use.name).is_dir() for place in item.role_places)


def _first_two(name: str) -> str:
    return ".".join(name.split(".")[:2])


def _what(item: Used, redirects: Mapping[str, str]) -> str:
    full = redirects.get(item.use.name, "")
    return f"{item.use.what} {item.use.name}" + (f" ({full})" if full else "")


def _missing(places: Places) -> str:
    looked = ", ".join(map(str, places.collections))
    return f"which is not installed and not in requirements.yml; looked in {looked}"


def _finding(rule: str, item: Used, message: str) -> Finding:
    return Finding(rule, item.file, item.use.line, item.use.field, message)
