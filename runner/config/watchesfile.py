"""Where the role or playbook that a watch names is found on disk.

The order is that of the Go operator; the result is an absolute real path, so that a symlinked role or a
path relative to the working directory runs as well as it loads.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.config.golang import substitute
from runner.config.watches import (
    OPERATORS,
    SOURCES,
    WATCH_FIELDS,
    Content,
    Engine,
    Finalizer,
    Requirement,
    Selector,
    Watch,
    foreign_keys,
    syntax_error,
)
from runner.config.yamlfile import Fields, Located, Mistakes, read_yaml
from runner.errors import Problem, WatchesError
from runner.objects import GroupVersionKind

_DEFAULT_COLLECTIONS = "/usr/share/ansible/collections"


Found = tuple[Path | None, list[Path]]
"""What was found, or None, and the places that were looked at, in order."""


DEFAULT_ARTIFACTS = 20
_KNOWN_AND_UNUSED = {"maxworkers", "ansibleverbosity"}
_FIELDS = tuple(field.name for field in WATCH_FIELDS)


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


@dataclass(frozen=True, slots=True)
class Reading:
    """What a watches file says: the watches that are sound, the line of each, and every mistake in file order."""

    watches: tuple[Watch, ...]
    lines: Mapping[GroupVersionKind, int]
    fatal: tuple[Problem, ...]
    harmless: tuple[Problem, ...]


def load_watches(
    path: Path, directory: Path, environment: Mapping[str, str]
) -> tuple[tuple[Watch, ...], tuple[Problem, ...]]:
    """The watches of a file, and the harmless mistakes in it (unknown fields).

    Relative roles and playbooks are looked for from `directory`. Raises WatchesError with every mistake at once.
    """
    reading = read_watches(path, directory, environment)
    if reading.fatal:
        raise WatchesError(reading.fatal)
    return reading.watches, reading.harmless


def read_watches(path: Path, directory: Path, environment: Mapping[str, str], home: str = "") -> Reading:
    """As `load_watches`, but mistakes are part of the answer; raises WatchesError only for what is not YAML.

    `home` is an absolute path for which `directory` stands: that of the project in its container image.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WatchesError([Problem(str(path), 1, "", f"cannot be read: {error}")]) from error
    mistakes = Mistakes(str(path))
    reader = _Reader(directory, environment, mistakes, home)
    watches = reader.read(read_yaml(substitute(text, environment), str(path)))
    fatal = sorted(mistakes.fatal, key=lambda problem: problem.line)
    return Reading(watches, reader.lines, tuple(fatal), tuple(mistakes.harmless))


class _Reader:
    def __init__(self, directory: Path, environment: Mapping[str, str], mistakes: Mistakes, home: str) -> None:
        self._directory = directory
        self._home = home
        self._environment = environment
        self._mistakes = mistakes
        self.lines: dict[GroupVersionKind, int] = {}

    def read(self, document: Located) -> tuple[Watch, ...]:
        if document.value is None:
            return ()
        if not isinstance(document.value, list):
            self._mistakes.add(
                document.line, "", "the file must be a list of watches: begin each with `- version:`"
            )
            return ()
        found = (
            self._watch(Fields(node, f"[{index}]", self._mistakes)) for index, node in enumerate(document.value)
        )
        return tuple(watch for watch in found if watch is not None)

    def _watch(self, fields: Fields) -> Watch | None:
        gvk = GroupVersionKind(fields.text("group"), fields.text("version"), fields.text("kind"))
        content = self._content(fields)
        watch = Watch(
            gvk=gvk,
            content=content or Content(Path(), is_role=True),
            vars=fields.plain_map("vars"),
            finalizer=self._finalizer(fields.inner("finalizer")),
            selector=_selector(fields.inner("selector")),
            blacklist=frozenset(_gvk(item) for item in fields.items("blacklist")),
            reconcile_period=fields.seconds("reconcilePeriod") or None,
            max_runner_artifacts=fields.number("maxRunnerArtifacts", DEFAULT_ARTIFACTS) or DEFAULT_ARTIFACTS,
            manage_status=fields.flag("manageStatus", default=True),
            watch_dependents=fields.flag("watchDependentResources", default=True),
            watch_cluster_scoped=fields.flag("watchClusterScopedResources", default=False),
            watch_annotations=fields.flag("watchAnnotationsChanges", default=False),
            snake_case=fields.flag("snakeCaseParameters", default=True),
            mark_unsafe=fields.flag("markUnsafe", default=False),
            rescued_tasks_fail=fields.flag("rescuedTasksFail", default=False),
            go_messages=fields.flag("goMessages", default=False),
            status=_status_map(fields),
            engine=_engine(fields),
        )
        self._check_kind(gvk, fields)
        self._note_unknown(fields)
        return watch if content else None

    def _check_kind(self, gvk: GroupVersionKind, fields: Fields) -> None:
        missing = [name for name in ("version", "kind") if not getattr(gvk, name)]
        for name in missing:
            fields.problem(name, f"invalid GVK: {gvk}: {name} must not be empty")
        if not missing and self.lines.setdefault(gvk, fields.line) != fields.line:
            fields.problem("", f"duplicate GVK: {gvk}, already watched in line {self.lines[gvk]}")

    def _content(self, fields: Fields) -> Content | None:
        playbook, role = fields.text("playbook"), fields.text("role")
        if not (playbook or role):
            fields.problem("", "must specify Role or Playbook")
            return None
        return self._resolve(fields, playbook, role)

    def _resolve(self, fields: Fields, playbook: str, role: str, *, tolerant: bool = False) -> Content | None:
        if playbook:
            path, tried = find_playbook(playbook, self._directory, self._home)
        else:
            path, tried = find_role(role, self._directory, self._environment, self._home)
        if path is not None:
            return Content(path, is_role=not playbook)
        name, value = ("playbook", playbook) if playbook else ("role", role)
        message = f"{name}: {value} was not found; looked at {', '.join(map(str, tried))}"
        if tolerant:
            fields.note(name, message + "; the finalizer will fail when it is needed")
            return Content(tried[0], is_role=not playbook)
        fields.problem(name, message)
        return None

    def _finalizer(self, fields: Fields | None) -> Finalizer | None:
        if fields is None:
            return None
        name, playbook, role = fields.text("name"), fields.text("playbook"), fields.text("role")
        variables = fields.plain_map("vars")
        if not name:
            fields.problem("name", "finalizer must have name")
        if not (playbook or role or variables):
            fields.problem("", "must specify Role, Playbook or vars")
        content = self._resolve(fields, playbook, role, tolerant=bool(variables)) if playbook or role else None
        self._note_unknown(fields, ("name", "playbook", "role", "vars"))
        return Finalizer(name, content, variables)

    def _note_unknown(self, fields: Fields, known: tuple[str, ...] = _FIELDS) -> None:
        for name, line in fields.unknown():
            if name.lower() in _KNOWN_AND_UNUSED:
                hint = "set it by the environment or a flag"
            else:
                close = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {close[0]}?" if close else "known are " + ", ".join(known)
            self._mistakes.note(line, fields.at(name), f"unknown field, ignored; {hint}")


def _gvk(fields: Fields) -> GroupVersionKind:
    return GroupVersionKind(fields.text("group"), fields.text("version"), fields.text("kind"))


def _selector(fields: Fields | None) -> Selector:
    if fields is None:
        return Selector()
    labels = [Requirement(key, "In", (value,)) for key, value in fields.text_map("matchLabels").items()]
    return Selector(tuple(labels + [_requirement(item) for item in fields.items("matchExpressions")]))


def _requirement(fields: Fields) -> Requirement:
    operator, values = fields.text("operator"), fields.texts("values")
    if operator not in OPERATORS:
        fields.problem(
            "operator", f'"{operator}" is not a valid label selector operator: use {", ".join(OPERATORS)}'
        )
    elif operator in ("In", "NotIn") and not values:
        fields.problem("values", f"must not be empty for the operator {operator}")
    elif operator in ("Exists", "DoesNotExist") and values:
        fields.problem("values", f"must be empty for the operator {operator}")
    return Requirement(fields.text("key"), operator, values)


def _engine(fields: Fields) -> Engine | None:
    text = fields.text("executor")
    if text and text not in set(Engine):
        fields.problem("executor", f'"{text}" is not one of {", ".join(Engine)}')
        return None
    return Engine(text) if text else None


def _status_map(fields: Fields) -> dict[str, str]:
    expressions = fields.text_map("status")
    inner = fields.inner("status")
    for name, expression in expressions.items():
        if inner is None:
            continue
        if error := syntax_error(expression):
            inner.problem(name, f"not a JMESPath expression: {error}")
        elif unknown := foreign_keys(expression):
            known = " and ".join(SOURCES)
            inner.note(name, f"{', '.join(unknown)} is always null: the keys of a run's result are {known}")
    return expressions
