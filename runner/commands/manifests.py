"""The manifests of a project that `dev run` applies as they are saved: its CRDs and, if asked for, its samples.

What the API server refuses is said with file and line, and stays as it was in the cluster. What is removed from a
file is not removed from the cluster: with a CRD every custom resource of it would go.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import structlog

from runner.config.yamlfile import Located
from runner.errors import ApiError, KubeError, Problem, WatchesError
from runner.generate import crds
from runner.kube.apply import Applier
from runner.objects import GroupVersionKind, Json
from runner.validate import documents
from runner.validate.documents import Document

GroupKind = tuple[str, str]
T = TypeVar("T")
WATCHES = "watches.yaml"
SPECS = ("meta", "defaults")
"""The directories of a role that say which variables it takes."""
HOW_TO_MAKE = "`ansible-operator generate crds` makes it of what the role says of its variables"
SAMPLES = "samples"
"""Where custom resources may be, beside the directories of manifests."""
_STEP = re.compile(r"[^.\[\]]+")
_PATH = re.compile(r"\.?((?:spec|metadata|status)(?:\.[\w-]+|\[[^\]]*\])+)")
"""A field as the API server names it in a message."""
_BETWEEN_CAUSES = re.compile(r", (?=(?:spec|metadata|status)[.\[:])")
_OF_ALL_VERSIONS = re.compile(r"^spec\.(validation|subresources|additionalPrinterColumns|selectableFields)\b")
_WHERE_VERSIONS_HAVE = {
    "validation": "spec.versions[0].schema",
    "subresources": "spec.versions[0].subresources",
    "additionalPrinterColumns": "spec.versions[0].additionalPrinterColumns",
    "selectableFields": "spec.versions[0].selectableFields",
}
"""What all versions have in common the API server names by its own, older place."""
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of a look at the manifests: the kinds whose CRD has changed, and those that are new."""

    changed: frozenset[GroupKind] = frozenset()
    new: frozenset[GroupKind] = frozenset()

    def concerns(self, gvk: GroupVersionKind) -> bool:
        """Whether it is about this kind."""
        return (gvk.group, gvk.kind) in self.changed | self.new


class Manifests:
    """The manifests of the directory `project`; with `samples`, also the custom resources among them are applied.

    CRDs that are made of roles are made anew before; `environment` is that of the operator, with its
    ANSIBLE_ROLES_PATH. `mistakes` is told what is wrong with a file, which is nothing once it is mended.
    """

    def __init__(
        self,
        project: Path,
        applier: Applier,
        mistakes: Callable[[str, Collection[str]], None],
        environment: Mapping[str, str],
        *,
        samples: bool = False,
    ) -> None:
        self._environment = environment
        self._without: set[Path] = set()
        self.roots = frozenset(project / name for name in (*documents.DIRECTORIES, SAMPLES))
        self._project = project
        self._applier = applier
        self._mistakes = mistakes
        self._samples = samples
        self._applied: dict[tuple[str, str], Json] = {}
        self._told: set[str] = set()

    def concern(self, files: Iterable[Path]) -> bool:
        """Whether one of the files is theirs, or they may be made of it."""
        return any(
            file.name == WATCHES
            or file.parent.name in SPECS
            or ".meta." in file.name
            or any(map(file.is_relative_to, self.roots))
            for file in files
        )

    async def take_up(self, kinds: Collection[GroupKind]) -> Applied:
        """Apply what has changed since the last time; `kinds` are those of watches.yaml, of which samples are."""
        unmade = await asyncio.to_thread(self._make)
        found, findings = await asyncio.to_thread(documents.read_manifests, self._project)
        problems = [*unmade, *(Problem(one.file, one.line, one.field, one.message) for one in findings)]
        changed, new = set[GroupKind](), set[GroupKind]()
        for crd in documents.of_kind(found, "CustomResourceDefinition"):
            if (was_absent := await self._once(crd, self._define, problems)) is not None:
                (new if was_absent else changed).add(
                    (crd.text("spec", "group"), crd.text("spec", "names", "kind"))
                )
        for sample in samples(self._project, found, kinds) if self._samples else ():
            await self._once(sample, self._applier.apply, problems)
        self._tell(problems)
        return Applied(frozenset(changed), frozenset(new))

    async def _define(self, crd: Json) -> bool:
        return await self._applier.define(without_service(crd))

    def _make(self) -> Sequence[Problem]:
        """Write the CRDs that are made of roles, where the project has them; what they cannot be made of."""
        try:
            made = crds.files(self._project, self._environment)
        except WatchesError as error:
            return error.problems
        for name, text in made.items():
            path = self._project / name
            if not path.exists():
                self._say_how_to_make(name)
            elif path.read_text(encoding="utf-8") != text:
                try:
                    path.write_text(text, encoding="utf-8")
                except OSError as error:
                    return [Problem(str(name), 1, "", f"cannot be written: {error}")]
                log.info("Generated", file=str(name), said=f"Generated {name}")
        return ()

    def _say_how_to_make(self, name: Path) -> None:
        if name not in self._without:
            self._without.add(name)
            log.warning("a kind has no CRD", file=str(name), said=f"There is no CRD for {name}: {HOW_TO_MAKE}")

    async def _once(
        self, document: Document, apply: Callable[[Json], Awaitable[T]], problems: list[Problem]
    ) -> T | None:
        """What `apply` answers; None where that is what was applied last, or it was refused."""
        body, name = document.node.plain(), document.text("metadata", "name")
        if not name or not document.text("apiVersion"):
            line = document.node.line
            problems.append(Problem(document.file, line, "", "apiVersion and metadata.name must not be empty"))
            return None
        key = f"{document.text('metadata', 'namespace')}/{name}", document.text("kind")
        if self._applied.get(key) == body:
            return None
        try:
            answer = await apply(body)
        except KubeError as error:
            problems.append(refusal(document, error))
            return None
        self._applied[key] = body
        log.info(
            "Applied",
            file=document.file,
            kind=key[1],
            name=name,
            said=f"Applied {key[1]} {name} ({document.file})",
        )
        return answer

    def _tell(self, problems: Iterable[Problem]) -> None:
        by_file: dict[str, list[str]] = {}
        for problem in problems:
            by_file.setdefault(problem.file, []).append(str(problem))
        for file in {*by_file, *self._told}:
            self._mistakes(file, by_file.get(file, ()))
        self._told = set(by_file)


def samples(project: Path, found: Iterable[Document], kinds: Collection[GroupKind]) -> Iterator[Document]:
    """The custom resources of these kinds among the manifests, and in the directory of samples."""
    beside = [one for file in documents.yaml_files(project / SAMPLES) for one in documents.read(file)[0]]
    for document in (*found, *beside):
        if (document.text("apiVersion").rpartition("/")[0], document.text("kind")) in kinds:
            yield document


def without_service(crd: Json) -> Json:
    """Without a conversion by a Service, which has no pods here: `versions` has the operator itself convert."""
    found: object = crd
    for name in ("spec", "conversion", "webhook", "clientConfig"):
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, dict) or "service" not in found:
        return crd
    return {**crd, "spec": {name: value for name, value in crd["spec"].items() if name != "conversion"}}


def refusal(document: Document, error: KubeError) -> Problem:
    """What the API server says of an object, at the line of the field that it finds fault with."""
    message = error.message if isinstance(error, ApiError) else str(error)
    named = error.fields[0] if isinstance(error, ApiError) and error.fields else ""
    if not named and (found := _PATH.search(message)):
        named = found[1]
    field = _OF_ALL_VERSIONS.sub(lambda found: _WHERE_VERSIONS_HAVE[found[1]], named)
    return Problem(document.file, line_of(document.node, field), "", f"refused: {first_of(message)}")


def first_of(message: str) -> str:
    """The first of the causes that the API server names, and how many more there are."""
    head, _, listed = message.partition(" is invalid: [")
    causes = _BETWEEN_CAUSES.split(listed.removesuffix("]"))
    more = f" (and {len(causes) - 1} more)" if len(causes) > 1 else ""
    return f"{head} is invalid: {causes[0]}{more}" if listed else message


def line_of(node: Located, field: str) -> int:
    """The line of a field such as `spec.versions[0].name`, or of what it would be in."""
    for step in _STEP.findall(field):
        if isinstance(node.value, list) and step.isdecimal() and int(step) < len(node.value):
            node = node.value[int(step)]
        elif isinstance(node.value, dict) and step in node.value:
            node = node.value[step]
        else:
            break
    return node.line
