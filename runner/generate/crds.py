"""`generate crds`: the CRDs of a project's kinds, made of what its roles and playbooks say of their variables.

A CRD without our annotation is its author's, and is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from runner.config.watches import Watch
from runner.config.watchesfile import find_role, read_watches
from runner.config.yamlfile import Located
from runner.errors import Problem, WatchesError
from runner.execute.variables import steers_ansible, variable_name
from runner.generate.crd import handwritten
from runner.generate.crd.content import Specs, specs_of
from runner.generate.crd.conversion import converted
from runner.generate.crd.definition import Version, custom_resource_definition, version_entry
from runner.generate.crd.options import Options
from runner.generate.crd.schema import Maker
from runner.generate.files import Files, yaml_text
from runner.validate.content.places import IMAGE_HOME
from runner.validate.documents import Document, child, of_kind, read_manifests, shown
from runner.validate.manifests.crds import GENERATED, crd_of, is_custom

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
        self._manifests = read_manifests(self._project)[0]
        definitions = of_kind(self._manifests, "CustomResourceDefinition")
        for watch in sorted(watches, key=lambda watch: (watch.gvk.group, watch.gvk.kind)):
            self._kind(watch, crd_of(watch.gvk.group, watch.gvk.kind, definitions))
        if self._mistakes:
            raise WatchesError(list(dict.fromkeys(self._mistakes)))
        self._made.remarks = list(dict.fromkeys(self._made.remarks))
        return self._made

    def _kind(self, watch: Watch, existing: Document | None) -> None:
        specs = self._specs(watch)
        if specs is None:
            return
        version = self._version(watch, specs)
        if existing is not None and not existing.text("metadata", "annotations", GENERATED):
            self._made.differences += handwritten.differences(existing, version.name, version.spec)
            return
        if existing is not None and sum(document.file == existing.file for document in self._manifests) > 1:
            message = "the file has other objects beside this generated CRD: move it to one of its own"
            self._mistakes.append(Problem(existing.file, existing.node.line, "", message))
        entry = version_entry(version, stored=True, unknown=partial(self._unknown, watch))
        crd = custom_resource_definition(watch.gvk, watch.crd, [entry, *self._converted(watch, entry)])
        header = HEADER.format(sources=f"{self._source(specs.file)} and watches.yaml")
        self._made.files[self._path(crd, existing)] = header + yaml_text(crd)

    def _converted(self, watch: Watch, entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The versions that are served by conversion: each as the argument spec of its name says, if any."""
        for name, conversion in watch.conversions.items():
            version = converted(entry, name, conversion)
            specs = specs_of(watch.content, name, self._role, self._mistakes, self._made.remarks)
            if specs is not None:
                version["schema"]["openAPIV3Schema"]["properties"]["spec"] = self._version(watch, specs).spec
            yield version

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

    def _specs(self, watch: Watch) -> Specs | None:
        specs = specs_of(watch.content, "main", self._role, self._mistakes, self._made.remarks)
        if specs is None:
            message = "nothing says which variables it takes: write argument specs, or a CRD by hand"
            self._made.remarks.append(
                self._problem(watch, ("role",) if watch.content.is_role else ("playbook",), message)
            )
        return specs

    def _role(self, name: str) -> Path | None:
        return find_role(name, self._project, self._environment, IMAGE_HOME)[0]

    def _version(self, watch: Watch, specs: Specs) -> Version:
        maker = Maker(
            watch.snake_case,
            lambda path, message: self._mistakes.append(specs.problem(path, message)),
            lambda path, message: self._made.remarks.append(specs.problem(path, message)),
        )
        options = tuple(option for option in specs.options if not self._is_taken(option.name, watch, specs))
        return Version(
            watch.gvk.version,
            maker.of(Options(options)),
            tuple(path for path in watch.status if path.split(".")[0] != "conditions"),
            watch.crd,
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

    def _unknown(self, watch: Watch, path: str, hint: str) -> None:
        message = f"the CRD has no such field{hint}"
        self._mistakes.append(self._problem(watch, ("crd", *path.split(".", 1)), message))

    def _problem(self, watch: Watch, path: tuple[str, ...], message: str) -> Problem:
        entry: Located = self._entries[watch.gvk]
        return Problem(self._file, child(entry, *path).line, ".".join(path), message)
