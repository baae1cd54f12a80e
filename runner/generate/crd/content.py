"""What a role or playbook says of its variables: argument specs, or a role's defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from runner.config.watches import Content
from runner.config.yamlfile import Located, read_yaml
from runner.errors import Problem
from runner.generate.crd.options import RULES, Option, Options, described, read_options
from runner.generate.crd.values import typed
from runner.validate.documents import child, shown

_SUFFIXES = (".yml", ".yaml", ".json")
FindRole = Callable[[str], Path | None]
Told = list[Problem]


class _Loader(yaml.SafeLoader):
    """YAML as Ansible reads it, but for values with a tag: what is encrypted is not known."""


_Loader.add_multi_constructor("!", lambda *_: None)


@dataclass(frozen=True, slots=True)
class Specs:
    """The options of some content, and where they are said; `given` are those that it has values for itself."""

    file: Path
    options: Options
    description: str = ""
    entry: tuple[str, ...] = ()

    def problem(self, path: tuple[str, ...], message: str) -> Problem:
        """What is to be said of an option, with its place in the file."""
        node, steps = _located(self.file), list(self.entry)
        for name in path:
            steps += ["options", name] if self.entry else [name]
        return Problem(shown(self.file), child(node, *steps).line, ".".join(path), message)


def specs_of(content: Content, entry: str, find_role: FindRole, mistakes: Told, remarks: Told) -> Specs | None:
    """What the content says of its variables; None for nothing. Raises WatchesError for what is not YAML.

    `entry` names the argument spec: `main` is what a role's tasks/main.yml runs by.
    """
    reader = _Reader(mistakes, remarks)
    if content.is_role:
        return reader.role(content.path, entry)
    return reader.playbook(content.path, entry, find_role)


class _Reader:
    def __init__(self, mistakes: Told, remarks: Told) -> None:
        self._mistakes = mistakes
        self._remarks = remarks

    def role(self, directory: Path, entry: str) -> Specs | None:
        defaults = _merged(directory / "defaults")
        for file in _spec_files(directory):
            raw = _entry(_load(file), entry)
            if raw is not None:
                return self._given(self._specs(file, entry, raw), defaults, _merged(directory / "vars"))
        if entry != "main" or not defaults:
            return None
        file = next(_files(directory / "defaults"))
        named = {name: value for name, value in defaults.items() if not str(name).startswith("_")}
        return Specs(file, Options(tuple(_guessed(str(name), value) for name, value in named.items())))

    def playbook(self, path: Path, entry: str, find_role: FindRole) -> Specs | None:
        """Of its plays, and of the roles that they name.

        A play's are in the playbook's .meta.yml, where ansible-core 2.20 reads them, by the name that
        `validate_argspec` says, or the play's own; or `main`, for ansible-lint takes no name with spaces.
        """
        found = list(filter(None, self._of_plays(path, entry, find_role)))
        if not found:
            return None
        options = {option.name: option for specs in reversed(found) for option in specs.options}
        return replace(found[0], options=Options(tuple(options.values())))

    def _of_plays(self, path: Path, entry: str, find_role: FindRole) -> Iterator[Specs | None]:
        meta = next((file for suffix in _SUFFIXES if (file := path.with_suffix(f".meta{suffix}")).is_file()), None)
        plays = _load(path)
        for play in plays if isinstance(plays, list) else ():
            if not isinstance(play, Mapping):
                continue
            names = (play.get("validate_argspec"), play.get("name"), entry) if entry == "main" else (entry,)
            for name in filter(None, map(str, names if meta else ())):
                if meta is not None and (raw := _entry(_load(meta), name)) is not None:
                    yield self._specs(meta, name, raw)
                    break
            for role in play.get("roles") or ():
                named = role.get("role", role.get("name")) if isinstance(role, Mapping) else role
                if directory := find_role(str(named)):
                    yield self.role(directory, entry)

    def _specs(self, file: Path, entry: str, raw: Mapping[str, Any]) -> Specs:
        bare = Specs(file, Options(), entry=("argument_specs", entry))
        for rule in RULES:
            if raw.get(rule):
                self._remarks.append(
                    bare.problem((), f"{entry}: Ansible does not read {rule} here, nor does the CRD")
                )
        options = read_options(
            raw.get("options") or {}, lambda path, message: self._mistakes.append(bare.problem(path, message))
        )
        description = described(raw.get("description") or raw.get("short_description"))
        return replace(bare, options=Options(options), description=description)

    def _given(self, specs: Specs, defaults: Mapping[str, Any], variables: Mapping[str, Any]) -> Specs:
        """Nothing is required that the role has a value for; defaults that differ are told."""
        for option in specs.options:
            own = defaults.get(option.name)
            if option.default is not None and own is not None and not _has_jinja(own) and own != option.default:
                message = (
                    f"is {option.default!r} by default, and {own!r} in the role's defaults: make them the same"
                )
                self._remarks.append(specs.problem((option.name,), message))
        given = {**defaults, **variables}
        options = (
            replace(option, required=option.required and option.name not in given) for option in specs.options
        )
        return replace(specs, options=Options(tuple(options)))


def _guessed(name: str, value: Any) -> Option:  # noqa: ANN401  (any YAML)
    """An option as its default looks; anything where that is null, a date, or made by a template."""
    kinds = {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "dict"}
    kind = kinds.get(type(value), "raw")
    rendered = _has_jinja(value)
    if kind == "raw" or (rendered and kind == "str"):
        return Option(name, "raw")
    items = {kinds.get(type(item), "raw") for item in value} if kind == "list" and not rendered else set()
    try:
        default = None if rendered else typed(kind, value)
    except ValueError:  # something in it is no JSON
        default = None
    return Option(name, kind, next(iter(items)) if len(items) == 1 else "", default=default)


def _has_jinja(value: Any) -> bool:  # noqa: ANN401  (any YAML)
    if isinstance(value, Mapping):
        return any(map(_has_jinja, value.values()))
    if isinstance(value, list):
        return any(map(_has_jinja, value))
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def _spec_files(role: Path) -> Iterator[Path]:
    """Where Ansible looks for the argument specs of a role, in its order: one file alone is read."""
    for name in ("argument_specs", "main"):
        for suffix in _SUFFIXES:
            if (file := role / "meta" / f"{name}{suffix}").is_file():
                yield file
                if name == "argument_specs":
                    return


def _entry(loaded: Any, entry: str) -> Mapping[str, Any] | None:  # noqa: ANN401  (any YAML)
    entries = loaded.get("argument_specs") if isinstance(loaded, Mapping) else None
    found = entries.get(entry) if isinstance(entries, Mapping) else None
    return found if isinstance(found, Mapping) else None


def _files(directory: Path) -> Iterator[Path]:
    """main.yml, or what is in main/."""
    for suffix in _SUFFIXES:
        if (file := directory / f"main{suffix}").is_file():
            yield file
            return
    yield from sorted(file for file in (directory / "main").glob("*") if file.suffix in _SUFFIXES)


def _merged(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for file in _files(directory):
        loaded = _load(file)
        found |= loaded if isinstance(loaded, dict) else {}
    return found


def _load(file: Path) -> Any:  # noqa: ANN401  (any YAML)
    """What the file holds. Raises WatchesError where it is not YAML."""
    _located(file)
    return yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506  (a SafeLoader)


def _located(file: Path) -> Located:
    return read_yaml(file.read_text(encoding="utf-8"), shown(file))
