"""watches.yaml as data: which kind is reconciled by which role or playbook, and how; the table of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from runner.objects import GroupVersionKind

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


SOURCES = ("stats", "data", "facts", "children")
"""The keys of what the expressions are evaluated on."""
_ON_EVERY_CHILD = {
    *("multi_select_list", "multi_select_dict", "key_val_pair", "function_expression"),
    *("or_expression", "and_expression", "not_expression", "comparator"),
}
_ON_NO_CHILD = {"literal", "expref"}
_WHOLE = "@"
"""In place of a key: the whole of the source is used."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One of a selector's `matchExpressions`; `matchLabels` entries become `In` with one value."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        present = self.key in labels
        match self.operator:
            case "In":
                return present and labels[self.key] in self.values
            case "NotIn":
                return not present or labels[self.key] not in self.values
            case "Exists":
                return present
            case _:
                return not present


@dataclass(frozen=True, slots=True)
class Selector:
    """A Kubernetes LabelSelector. Without requirements it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)


class Engine(StrEnum):
    """How a run is started: `auto` is warm where that can be, cold otherwise."""

    AUTO = "auto"
    WARM = "warm"
    COLD = "cold"


@dataclass(frozen=True, slots=True)
class Content:
    """What Ansible is to run: a playbook file or a role directory, absolute and existing."""

    path: Path
    is_role: bool


@dataclass(frozen=True, slots=True)
class Finalizer:
    """What runs when a custom resource is being deleted; without content, the watch's own runs, with `vars`."""

    name: str
    content: Content | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Watch:
    """One entry of watches.yaml. `reconcile_period` is in seconds; None leaves it to the flag, <0 means never.

    `go_messages` asks for the Go operator's texts of failures, whatever the flag says. `status` maps a field of
    the custom resource's status to a JMESPath expression over the run's result; `engine` is None where the flag
    decides.
    """

    gvk: GroupVersionKind
    content: Content
    vars: Mapping[str, Any] = field(default_factory=dict)
    finalizer: Finalizer | None = None
    selector: Selector = field(default_factory=Selector)
    blacklist: frozenset[GroupVersionKind] = frozenset()
    reconcile_period: float | None = None
    max_runner_artifacts: int = 20
    manage_status: bool = True
    watch_dependents: bool = True
    watch_cluster_scoped: bool = False
    watch_annotations: bool = False
    snake_case: bool = True
    mark_unsafe: bool = False
    rescued_tasks_fail: bool = False
    go_messages: bool = False
    status: Mapping[str, str] = field(default_factory=dict)
    engine: Engine | None = None


@dataclass(frozen=True, slots=True)
class WatchField:
    """One field of an entry of watches.yaml; `ours` marks those that the Go operator does not have."""

    name: str
    type: str
    default: str
    meaning: str
    ours: bool = False


WATCH_FIELDS = (
    WatchField("version", "string", "required", "version of the kind"),
    WatchField("group", "string", '""', "API group of the kind; empty for the core group"),
    WatchField("kind", "string", "required", "the kind that is reconciled"),
    WatchField("playbook", "path", "", "playbook to run; goes before `role`"),
    WatchField("role", "name, path or collection role", "", "role to run"),
    WatchField("vars", "map", "{}", "extra vars, above those from the custom resource"),
    WatchField("maxRunnerArtifacts", "integer", "20", "runs whose artifacts are kept; negative: all"),
    WatchField("reconcilePeriod", "duration", "the flag", "time between runs without a change; negative: never"),
    WatchField("manageStatus", "boolean", "true", "write conditions and fields to the status"),
    WatchField("watchDependentResources", "boolean", "true", "run again when a dependent is edited or deleted"),
    WatchField("watchClusterScopedResources", "boolean", "false", "also cluster-scoped ones, by annotation"),
    WatchField("snakeCaseParameters", "boolean", "true", "turn spec keys into snake_case variables"),
    WatchField("watchAnnotationsChanges", "boolean", "false", "run when the annotations change, too"),
    WatchField(
        "markUnsafe",
        "boolean",
        "false",
        "a custom resource is data: Ansible evaluates no Jinja in it and takes no variable of its own from it",
    ),
    WatchField("blacklist", "list of {group, version, kind}", "[]", "dependents that are not watched"),
    WatchField("selector", "label selector", "{}", "only custom resources with these labels"),
    WatchField("finalizer", "{name, playbook, role, vars}", "", "what runs before a custom resource is gone"),
    WatchField("rescuedTasksFail", "boolean", "false", "a rescued task makes the run fail, as in Go", ours=True),
    WatchField("goMessages", "boolean", "the flag", "tell failures in the Go operator's words", ours=True),
    WatchField("status", "map of JMESPath", "{}", "status fields from what the run came to", ours=True),
    WatchField(
        "executor", "auto, warm or cold", "the flag", "how runs are started: see performance.md", ours=True
    ),
)


def syntax_error(expression: str) -> str:
    """Why the expression cannot be compiled, or ""."""
    try:
        jmespath.compile(expression)
    except JMESPathError as error:
        return str(error).strip().splitlines()[0]
    return ""


def foreign_keys(expression: str) -> list[str]:
    """The first keys that the expression asks for and no run has; they are always null."""
    parsed: Mapping[str, Any] = jmespath.compile(expression).parsed
    return sorted({key for key in _first_keys(parsed) if key not in (*SOURCES, _WHOLE)})


def uses_children(expression: str) -> bool:
    """Whether what the expression yields may depend on the objects of the run's own."""
    return not {"children", _WHOLE}.isdisjoint(_first_keys(jmespath.compile(expression).parsed))


def _first_keys(node: Mapping[str, Any]) -> Iterator[str]:
    """The keys looked up in the source itself; the rest is looked up in what its left side yields."""
    if node["type"] == "field":
        yield node["value"]
    elif node["type"] in ("current", "identity"):
        yield _WHOLE
    elif node["type"] not in _ON_NO_CHILD:
        children = node["children"] if node["type"] in _ON_EVERY_CHILD else node["children"][:1]
        for child in children:
            yield from _first_keys(child)
