"""`generate crds`: the CRDs of a project's kinds, made of what its roles and playbooks say of their variables.

A CRD without our annotation is its author's, and is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from runner.config.watches import Watch
from runner.config.watchesfile import find_role, read_watches
from runner.config.yamlfile import Located
from runner.errors import Problem, WatchesError
from runner.execute.variables import steers_ansible, variable_name
from runner.generate.crd import handwritten
from runner.generate.crd.content import Specs, specs_of
from runner.generate.crd.definition import GENERATED, Version, custom_resource_definition
from runner.generate.crd.options import Options
from runner.generate.crd.schema import Maker
from runner.generate.files import Files, yaml_text
from runner.validate.content.places import IMAGE_HOME
from runner.validate.documents import Document, child, of_kind, read_manifests, shown
from runner.validate.manifests.crds import crd_of, is_custom

DIRECTORY = Path("crds")
HEADER = "# Made by `ansible-operator generate crds` of {sources}: change those.\n---\n"
_COLLECTIONS = "ansible_collections"
_OURS = ("ansible_operator_meta", "ansible_operator_run")


@dataclass(slots=True)
class Made:
    """The files, what is worth knowing of them, and how CRDs that are not ours differ from what roles say."""

    files: dict[Path, str] = field(default_factory=dict)
    remarks: list[Problem] = field(default_factory=list)
    differences: list[Problem] = field(default_factory=list)


def files(project: Path, environment: Mapping[str, str] | None = None) -> Files:
    """The CRDs that are made of roles, each by its path in the project.

    `environment` is that of the operator, with its ANSIBLE_ROLES_PATH. Raises WatchesError with every mistake.
    """
    return make(project, environment or {}).files


def remarks(project: Path, environment: Mapping[str, str]) -> list[str]:
    """What is worth knowing of the roles that CRDs are made of."""
    return [str(problem) for problem in make(project, environment).remarks]


def differences(project: Path, environment: Mapping[str, str]) -> list[str]:
    """How the CRDs that were written by hand differ from what the roles say."""
    return [str(problem) for problem in make(project, environment).differences]


def make(project: Path, environment: Mapping[str, str]) -> Made:
    """Everything at once. Raises WatchesError with every mistake."""
    return _Maker(project.resolve(), environment).make()


class _Maker:
    def __init__(self, project: Path, environment: Mapping[str, str]) -> None:
        self._project = project
        self._environment = environment
        self._file = shown(project / "watches.yaml")
        self._mistakes: list[Problem] = []
        self._made = Made()

    def make(self) -> Made:
        reading = read_watches(Path(self._file), self._project, self._environment, IMAGE_HOME)
        if reading.fatal:
            raise WatchesError(reading.fatal)
        self._entries = reading.entries
        watches = [w for w in reading.watches if is_custom(w.gvk.group) and w.crd.generate]
        manifests = of_kind(read_manifests(self._project)[0], "CustomResourceDefinition")
        order = sorted(watches, key=lambda watch: (watch.gvk.group, watch.gvk.kind))  # stable: as in the file
        for (group, kind), versions in groupby(order, key=lambda watch: (watch.gvk.group, watch.gvk.kind)):
            self._kind(list(versions), crd_of(group, kind, manifests))
        if self._mistakes:
            raise WatchesError(self._mistakes)
        return self._made

    def _kind(self, watches: list[Watch], existing: Document | None) -> None:
        found = [(watch, name, self._specs(watch, name)) for watch in watches for name in _versions(watch)]
        known = [(watch, name, specs) for watch, name, specs in found if specs is not None]
        if len(known) < len(found):
            return
        if existing is not None and not existing.text("metadata", "annotations", GENERATED):
            for watch, name, specs in known:
                self._made.differences += handwritten.differences(
                    existing, name, self._version(watch, name, specs).spec
                )
            return
        stored = self._stored(watches)
        versions = [self._version(watch, name, specs) for watch, name, specs in known]
        crd = custom_resource_definition(
            stored.gvk, versions, stored.gvk.version, stored.crd, lambda path: self._unknown(stored, path)
        )
        sources = dict.fromkeys(self._source(specs.file) for _, _, specs in known)
        header = HEADER.format(sources=" and ".join([*sources, "watches.yaml"]))
        self._made.files[self._path(crd, existing)] = header + yaml_text(crd)

    def _source(self, file: Path) -> str:
        """A file as it is named in every clone: from the project, or by its collection."""
        if file.is_relative_to(self._project):
            return str(file.relative_to(self._project))
        parts = file.parts
        start = parts.index(_COLLECTIONS) + 1 if _COLLECTIONS in parts else -3
        return "/".join(parts[start:])

    def _path(self, crd: Mapping[str, Any], existing: Document | None) -> Path:
        if existing is not None:
            return Path(existing.file).resolve().relative_to(self._project)
        return DIRECTORY / f"{crd['spec']['group']}_{crd['spec']['names']['plural']}.yaml"

    def _specs(self, watch: Watch, version: str) -> Specs | None:
        entry = "main" if version == watch.gvk.version else version
        specs = specs_of(watch.content, entry, self._role, self._mistakes, self._made.remarks)
        if specs is None and entry == "main":
            message = "nothing says which variables it takes: write argument specs, or a CRD by hand"
            self._made.remarks.append(
                self._problem(watch, ("role",) if watch.content.is_role else ("playbook",), message)
            )
        elif specs is None:
            self._mistakes.append(
                self._problem(watch, ("crd", "versions"), f"there is no argument spec named {version}")
            )
        return specs

    def _role(self, name: str) -> Path | None:
        return find_role(name, self._project, self._environment, IMAGE_HOME)[0]

    def _stored(self, watches: list[Watch]) -> Watch:
        """The version that is stored: the one that says so, or the first."""
        asking = [watch for watch in watches if watch.crd.storage]
        for watch in asking[1:]:
            self._mistakes.append(self._problem(watch, ("crd", "storage"), "one version alone can be stored"))
        return next(iter(asking), watches[0])

    def _version(self, watch: Watch, name: str, specs: Specs) -> Version:
        maker = Maker(
            watch.snake_case,
            lambda path, message: self._mistakes.append(specs.problem(path, message)),
            lambda path, message: self._made.remarks.append(specs.problem(path, message)),
        )
        options = tuple(option for option in specs.options if not self._is_taken(option.name, watch, specs))
        main = name == watch.gvk.version
        hints = watch.crd if main else replace(watch.crd, columns={}, scale={}, schema={})
        return Version(
            name,
            maker.of(Options(options)),
            tuple(path for path in watch.status if path.split(".")[0] != "conditions"),
            hints,
            specs.description,
            watch.manage_status,
        )

    def _is_taken(self, option: str, watch: Watch, specs: Specs) -> bool:
        """Whether a custom resource cannot set that variable, or should not."""
        own = variable_name(watch.gvk)
        switches = watch.finalizer.vars if watch.finalizer else {}
        if steers_ansible(option):
            self._made.remarks.append(specs.problem((option,), "is a variable of Ansible's own: it is no field"))
        return steers_ansible(option) or option in (*watch.vars, *switches, *_OURS, own, f"{own}_spec")

    def _unknown(self, watch: Watch, path: str) -> None:
        self._mistakes.append(self._problem(watch, ("crd", *path.split(".", 1)), "the CRD has no such field"))

    def _problem(self, watch: Watch, path: tuple[str, ...], message: str) -> Problem:
        entry: Located = self._entries[watch.gvk]
        return Problem(self._file, child(entry, *path).line, ".".join(path), message)


def _versions(watch: Watch) -> tuple[str, ...]:
    return (watch.gvk.version, *watch.crd.versions)
