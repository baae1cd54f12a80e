"""`create webhook`: has the API server ask the operator before it takes a custom resource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.config.watches import Watch
from runner.errors import SettingsError
from runner.generate import manifests
from runner.scaffold.api import WATCHES, watches_of
from runner.scaffold.changes import changing, existing, refuse, unmarked
from runner.scaffold.names import Api
from runner.scaffold.project import ROLE, Project, write_role
from runner.scaffold.templates import template

_ADMIT = "admit"
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `create webhook` was asked for.

    The argument specs are asked in any case; `tasks` and `defaulting` are files of tasks, which are made.
    """

    api: Api
    tasks: bool = False
    defaulting: bool = False


def create_webhook(project: Project, wanted: Wanted, environment: Mapping[str, str]) -> None:
    """Write the watch's `admission`, the role's tasks for it and the manifests, and say what was written.

    Raises SettingsError, with the project as it was, where the kind is not there, or something is in the way.
    """
    watch = _watch(project, wanted.api, environment)
    role = _role(project, watch) if wanted.tasks or wanted.defaulting else Path()
    names = [_ADMIT] * wanted.tasks + [_DEFAULT] * wanted.defaulting
    files = {role / "tasks" / f"{name}.yml": template(f"{name}.yml", {"kind": wanted.api.kind}) for name in names}
    place = f"watch {wanted.api.group}/{wanted.api.kind}"
    refuse([*existing(project.directory, files), *unmarked(project.directory, [(WATCHES, place)])])
    with changing(project.directory) as changes:
        changes.create(files)
        changes.insert(WATCHES, place, _admission(wanted))
        watches_of(project, environment)  # which says what is wrong, such as argument specs that are missing
        for path, text in manifests.files(project.directory, environment).items():
            if path != ROLE:
                changes.replace(path, text)
        write_role(project.directory, changes, environment)


def _admission(wanted: Wanted) -> str:
    validate = f"{{tasks: {_ADMIT}}}" if wanted.tasks else "true"
    default = f"\n  default: {{tasks: {_DEFAULT}}}" if wanted.defaulting else ""
    return f"admission:\n  validate: {validate}{default}"


def _watch(project: Project, api: Api, environment: Mapping[str, str]) -> Watch:
    """The watch of the kind. Raises SettingsError where there is none, or it has `admission` already."""
    watches = watches_of(project, environment)
    wanted = (api.group, api.version, api.kind)
    found = next((w for w in watches if (w.gvk.group, w.gvk.version, w.gvk.kind) == wanted), None)
    if found is None:
        there = ", ".join(f"{w.gvk.group}/{w.gvk.version} {w.gvk.kind}" for w in watches) or "none"
        raise SettingsError(f"{WATCHES} does not run {api}, but {there}: add it by `ansible-operator create api`")
    if found.admission is not None:
        raise SettingsError(f"{WATCHES} has `admission` for {api} already: change it there")
    return found


def _role(project: Project, watch: Watch) -> Path:
    """The role's directory in the project. Raises SettingsError where the watch has none there."""
    if watch.content.is_role and watch.content.path.is_relative_to(project.directory):
        return watch.content.path.relative_to(project.directory)
    raise SettingsError(
        f"{watch.gvk.kind} is run by {watch.content.path}: tasks for admission can be those of a role in this"
        " project alone"
    )
