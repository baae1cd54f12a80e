"""Where the role or playbook that a watch names is found on disk.

The order is that of the Go operator; the result is an absolute real path, so that a symlinked role or a
path relative to the working directory runs as well as it loads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.config.admission import admission, conversions
from runner.config.crd import definition
from runner.config.expressions import SOURCES, foreign_keys, syntax_error
from runner.config.fields import Fields, Mistakes
from runner.config.golang import substitute
from runner.config.reactions import kind_of, reconcile_on, reference, selector
from runner.config.watches import (
    WATCH_FIELDS,
    Content,
    Engine,
    Finalizer,
    Watch,
)
from runner.config.yamlfile import UNREADABLE, Located, read_yaml
from runner.errors import Problem, WatchesError
from runner.objects import GroupVersionKind

_DEFAULT_COLLECTIONS = "/usr/share/ansible/collections"


Found = tuple[Path | None, list[Path]]
"""What was found, or None, and the places that were looked at, in order."""


DEFAULT_ARTIFACTS = 20
_ELSEWHERE = dict.fromkeys(("maxworkers", "ansibleverbosity"), "set it by the environment or a flag")
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
    """What a watches file says: the watches that are sound, the entry of each, and every mistake in file order."""

    watches: tuple[Watch, ...]
    entries: Mapping[GroupVersionKind, Located]
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
        raise WatchesError([Problem(str(path), 1, "", f"cannot be read: {error}", UNREADABLE)]) from error
    mistakes = Mistakes(str(path))
    reader = _Reader(directory, environment, mistakes, home)
    watches = reader.read(read_yaml(substitute(text, environment), str(path)))
    fatal = sorted(mistakes.fatal, key=lambda problem: problem.line)
    return Reading(watches, reader.entries, tuple(fatal), tuple(mistakes.harmless))


class _Reader:
    def __init__(self, directory: Path, environment: Mapping[str, str], mistakes: Mistakes, home: str) -> None:
        self._directory = directory
        self._home = home
        self._environment = environment
        self._mistakes = mistakes
        self.entries: dict[GroupVersionKind, Located] = {}

    def read(self, document: Located) -> tuple[Watch, ...]:
        if document.value is None:
            return ()
        if not isinstance(document.value, list):
            self._mistakes.add(
                document.line, "", "the file must be a list of watches: begin each with `- version:`"
            )
            return ()
        found = (
            self._watch(node, Fields(node, f"[{index}]", self._mistakes))
            for index, node in enumerate(document.value)
        )
        return tuple(watch for watch in found if watch is not None)

    def _watch(self, node: Located, fields: Fields) -> Watch | None:
        gvk = GroupVersionKind(fields.text("group"), fields.text("version"), fields.text("kind"))
        content = self._content(fields)
        watch = Watch(
            gvk=gvk,
            content=content or Content(Path(), is_role=True),
            vars=fields.plain_map("vars"),
            finalizer=self._finalizer(fields.inner("finalizer")),
            selector=selector(fields.inner("selector")),
            blacklist=frozenset(map(kind_of, fields.items("blacklist"))),
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
            drift_period=_drift_period(fields),
            prune=fields.flag("prune", default=False),
            references=tuple(reference(item) for item in fields.items("references")),
            reconcile_on=dict(filter(None, map(reconcile_on, fields.items("dependents")))),
            admission=admission(
                fields.inner("admission"),
                content.path if content else None,
                is_role=bool(content and content.is_role),
            ),
            conversions=conversions(fields.inner("versions"), gvk.version),
            crd=definition(fields.inner("crd")),
        )
        self._check_kind(gvk, node, fields)
        fields.note_unknown(_FIELDS, _ELSEWHERE)
        return watch if content else None

    def _check_kind(self, gvk: GroupVersionKind, node: Located, fields: Fields) -> None:
        missing = [name for name in ("version", "kind") if not getattr(gvk, name)]
        for name in missing:
            fields.problem(name, f"invalid GVK: {gvk}: {name} must not be empty", "watch-kind-missing")
        if missing:
            return
        known = next((one for one in self.entries if (one.group, one.kind) == (gvk.group, gvk.kind)), None)
        self.entries.setdefault(gvk, node)
        if known == gvk:
            fields.problem(
                "", f"duplicate GVK: {gvk}, already watched in line {self.entries[gvk].line}", "watch-duplicate"
            )
        elif known is not None:
            line = self.entries[known].line
            fields.problem("version", _other_version(gvk, known, line), "watch-duplicate")

    def _content(self, fields: Fields) -> Content | None:
        playbook, role = fields.text("playbook"), fields.text("role")
        if not (playbook or role):
            fields.problem("", "must specify Role or Playbook", "watch-without-content")
            return None
        return self._resolve(fields, playbook, role)

    def _resolve(self, fields: Fields, playbook: str, role: str, *, tolerant: bool = False) -> Content | None:
        if playbook and role:
            message = f"{role} is not run: a playbook goes before a role; remove one of them"
            fields.note("role", message, "watch-two-contents")
        if playbook:
            path, tried = find_playbook(playbook, self._directory, self._home)
        else:
            path, tried = find_role(role, self._directory, self._environment, self._home)
        if path is not None:
            return Content(path, is_role=not playbook)
        name, value = ("playbook", playbook) if playbook else ("role", role)
        message = f"{name}: {value} was not found; looked at {', '.join(map(str, tried))}"
        if tolerant:
            fields.note(
                name, message + "; the finalizer will fail when it is needed", "watch-finalizer-content-missing"
            )
            return Content(tried[0], is_role=not playbook)
        fields.problem(name, message, "watch-content-missing")
        return None

    def _finalizer(self, fields: Fields | None) -> Finalizer | None:
        if fields is None:
            return None
        name, playbook, role = fields.text("name"), fields.text("playbook"), fields.text("role")
        variables = fields.plain_map("vars")
        if not name:
            fields.problem("name", "finalizer must have name", "watch-finalizer-invalid")
        if not (playbook or role or variables):
            fields.problem("", "must specify Role, Playbook or vars", "watch-finalizer-invalid")
        content = self._resolve(fields, playbook, role, tolerant=bool(variables)) if playbook or role else None
        fields.note_unknown(("name", "playbook", "role", "vars"), _ELSEWHERE)
        return Finalizer(name, content, variables)


def _other_version(gvk: GroupVersionKind, known: GroupVersionKind, line: int) -> str:
    return (
        f"{gvk.kind} is watched as {known.version} in line {line} already. Every object is served in all versions,"
        " so that both watches would run each object, and with prune delete what the other made. Keep one watch;"
        f" where the fields of {gvk.version} differ, write"
        f" `versions: {{{gvk.version}: {{to: ..., from: ...}}}}` into it"
    )


def _drift_period(fields: Fields) -> float | None:
    seconds = fields.seconds("driftPeriod")
    if seconds is not None and seconds <= 0:
        fields.problem("driftPeriod", "must be longer than 0; leave it out for no check runs")
    if not seconds or seconds < 0 or fields.flag("manageStatus", default=True):
        return seconds
    fields.note(
        "driftPeriod",
        "nothing is checked: manageStatus is false, and what is found would be written to the status",
        "watch-drift-without-status",
    )
    return None


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
            inner.problem(name, f"not a JMESPath expression: {error}", "watch-status-invalid")
        elif unknown := foreign_keys(expression):
            known = " and ".join(SOURCES)
            inner.note(
                name,
                f"{', '.join(unknown)} is always null: the keys of a run's result are {known}",
                "watch-status-null",
            )
    return expressions
