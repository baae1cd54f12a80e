"""What a watch asks of admission and of conversion between versions, as watches.yaml says it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from runner.config.expressions import syntax_error
from runner.config.fields import Fields

_YAML = (".yml", ".yaml")
_SPECS = re.compile(r"^argument_specs:", re.MULTILINE)
_VERSION = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_PATH = re.compile(r"[A-Za-z0-9_$-]+(\.[A-Za-z0-9_$-]+)*")
_RULE = "watch-admission-invalid"


class FailurePolicy(StrEnum):
    """What becomes of a request that cannot be reviewed: it is refused, or let through with a warning."""

    FAIL = "Fail"
    IGNORE = "Ignore"


@dataclass(frozen=True, slots=True)
class Admission:
    """What is asked of a custom resource before it is stored.

    `specs` is the file of the argument specs that its spec has to fit, None where they aren't asked; `tasks` and
    `default` name files of tasks of the role, which refuse it and publish defaults of its spec; empty for none.
    """

    specs: Path | None = None
    tasks: str = ""
    default: str = ""
    failure_policy: FailurePolicy = FailurePolicy.FAIL

    @property
    def validates(self) -> bool:
        return self.specs is not None or bool(self.tasks)


@dataclass(frozen=True, slots=True)
class Conversion:
    """How a custom resource of the watch's version becomes one of another version, and back.

    Each maps a field below the spec that only its target has (its path, with dots) to a JMESPath expression over
    the whole object of the source. All other fields are carried over.
    """

    to: Mapping[str, str] = field(default_factory=dict)
    back: Mapping[str, str] = field(default_factory=dict)


def admission(fields: Fields | None, content: Path | None, *, is_role: bool) -> Admission | None:
    """The field `admission`; `content` is the role's directory or the playbook, None where it wasn't found."""
    if fields is None:
        return None
    validate, specs = _validate(fields, content, is_role=is_role)
    inner = fields.inner("default")
    default = _tasks(inner, content, is_role=is_role) if inner else ""
    if not (validate or specs or default) and not (
        fields.is_flag("validate") and fields.flag("validate", default=False)
    ):
        fields.problem("", "must have validate (true, or a map with tasks) or default (a map with tasks)", _RULE)
    policy = fields.text("failurePolicy") or FailurePolicy.FAIL
    if policy not in set(FailurePolicy):
        fields.problem("failurePolicy", f'"{policy}" is not one of {", ".join(FailurePolicy)}', _RULE)
        policy = FailurePolicy.FAIL
    fields.note_unknown(("validate", "default", "failurePolicy"))
    return Admission(specs, validate, default, FailurePolicy(policy))


def conversions(fields: Fields | None, hub: str) -> dict[str, Conversion]:
    """The field `versions`; `hub` is the version of the watch, through which all others are converted."""
    found: dict[str, Conversion] = {}
    if fields is None:
        return found
    for version in fields.names():
        inner = fields.inner(version)
        if inner is None:
            fields.problem(
                version, "must be a map with to, from, or neither: {} where only the name differs", _RULE
            )
            continue
        if version == hub:
            fields.problem(version, "is the watch's own version: name the others that the CRD serves", _RULE)
        elif not _VERSION.fullmatch(version):
            fields.problem(version, "is no version of a CRD, such as v1alpha1", _RULE)
        found[version] = Conversion(_expressions(inner, "to"), _expressions(inner, "from"))
        inner.note_unknown(("to", "from"))
    return found


def specs_of(content: Path, *, is_role: bool) -> Path | None:
    """The file with the argument specs of a role or playbook, at the places where Ansible looks for it."""
    if not is_role:
        return _first(content.with_suffix(f".meta{ending}") for ending in _YAML)
    meta = content / "meta"
    return _first(meta / f"argument_specs{ending}" for ending in _YAML) or _first(
        file for ending in _YAML if _SPECS.search(_text(file := meta / f"main{ending}"))
    )


def _first(files: Iterable[Path]) -> Path | None:
    return next((file for file in files if file.is_file()), None)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def _validate(fields: Fields, content: Path | None, *, is_role: bool) -> tuple[str, Path | None]:
    """The file of tasks that validates, and the argument specs."""
    specs = specs_of(content, is_role=is_role) if content else None
    if fields.is_flag("validate"):
        wanted = fields.flag("validate", default=False)
        if wanted and content and specs is None:
            place = "meta/argument_specs.yml" if is_role else f"{content.stem}.meta.yml"
            fields.problem("validate", f"there are no argument specs: {content} has no {place}", _RULE)
        return "", specs if wanted else None
    inner = fields.inner("validate")
    return (_tasks(inner, content, is_role=is_role), specs) if inner else ("", None)


def _tasks(fields: Fields, content: Path | None, *, is_role: bool) -> str:
    """The file of tasks of the role, by its path in the role's tasks."""
    name = fields.text("tasks")
    fields.note_unknown(("tasks",))
    if not name:
        fields.problem("tasks", "must name a file of the role's tasks", _RULE)
    elif content and not is_role:
        fields.problem("tasks", "is a file of a role's tasks, and the watch has a playbook", _RULE)
    elif content and ".." not in Path(name).parts:
        found = (f"{name}{ending}" for ending in (*_YAML, "") if (content / "tasks" / f"{name}{ending}").is_file())
        if file := next(found, ""):
            return file
        fields.problem("tasks", f"there is no {content / 'tasks' / name}.yml", _RULE)
    elif content:
        fields.problem("tasks", "must be below the role's tasks", _RULE)
    return name


def _expressions(fields: Fields, name: str) -> dict[str, str]:
    inner = fields.inner(name)
    if inner is None:
        return {}
    expressions = {path: inner.text(path) for path in inner.names()}
    for path, expression in expressions.items():
        if not _PATH.fullmatch(path):
            inner.problem(path, "is no path of a field below spec, such as storage.size", _RULE)
        if error := syntax_error(expression):
            inner.problem(path, f"not a JMESPath expression over the object: {error}", _RULE)
    return expressions
