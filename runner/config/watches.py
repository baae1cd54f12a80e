"""watches.yaml as data: which kind is reconciled by which role or playbook, and how; the table of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from runner.config.admission import Admission, Conversion
from runner.config.expressions import uses_children
from runner.objects import GroupVersionKind

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
SCOPES = ("Namespaced", "Cluster")


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


@dataclass(frozen=True, slots=True)
class Reference:
    """Objects that custom resources use and do not own.

    `names` is a JMESPath expression over the custom resource, which yields a name, a list of names, or of
    {name, namespace}. If `names` is empty, objects with the labels of `selector` concern every custom resource of
    the kind. Objects of other namespaces than the custom resource's own count only with `all_namespaces`.
    """

    gvk: GroupVersionKind
    names: str = ""
    selector: Selector = field(default_factory=Selector)
    all_namespaces: bool = False


class Engine(StrEnum):
    """How a run is started: `auto` is warm where that can be, cold otherwise."""

    AUTO = "auto"
    WARM = "warm"
    COLD = "cold"


@dataclass(frozen=True, slots=True)
class Content:
    """What Ansible is to run: a playbook file or a role directory, absolute and existing.

    `tasks`: of the role nothing but this file of its tasks.
    """

    path: Path
    is_role: bool
    tasks: str = ""


@dataclass(frozen=True, slots=True)
class Finalizer:
    """What runs when a custom resource is being deleted; without content, the watch's own runs, with `vars`."""

    name: str
    content: Content | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Definition:
    """What `generate crds` is told beside the role's argument specs; the operator itself reads none of it.

    `columns` maps the headers of `kubectl get` to paths; `schema` maps paths to what is added to the schema there.
    """

    generate: bool = True
    plural: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    scope: str = SCOPES[0]
    columns: Mapping[str, str] = field(default_factory=dict)
    scale: Mapping[str, str] = field(default_factory=dict)
    schema: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Watch:
    """One entry of watches.yaml. `reconcile_period` is in seconds; None leaves it to the flag, <0 means never.

    `go_messages` asks for the Go operator's texts of failures, whatever the flag says. `status` maps a field of
    the custom resource's status to a JMESPath expression over the run's result; `engine` is None where the flag
    decides. `reconcile_on` maps a kind of dependents to a JMESPath expression over one; `drift_period` is the time
    between check runs in seconds, None for none; `prune` deletes what a successful run no longer produces.
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
    drift_period: float | None = None
    references: tuple[Reference, ...] = ()
    reconcile_on: Mapping[GroupVersionKind, str] = field(default_factory=dict)
    prune: bool = False
    admission: Admission | None = None
    conversions: Mapping[str, Conversion] = field(default_factory=dict)
    crd: Definition = field(default_factory=Definition)

    @property
    def asks_for_children(self) -> bool:
        """Whether anybody asks what a run wrote or read."""
        return bool(self.reconcile_on) or any(map(uses_children, self.status.values()))

    @property
    def has_webhooks(self) -> bool:
        return self.admission is not None or bool(self.conversions)


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
    WatchField(
        "references",
        "list of {apiVersion, kind, names, selector, namespaces}",
        "[]",
        "objects that a custom resource uses and does not own: it runs when one of them changes",
        ours=True,
    ),
    WatchField(
        "dependents",
        "list of {apiVersion, kind, reconcileOn}",
        "[]",
        "dependents that make their owner run when what a JMESPath expression yields of them changes",
        ours=True,
    ),
    WatchField(
        "driftPeriod",
        "duration above 0",
        "",
        "time between check runs, which change nothing and say in condition Drifted what a run would change",
        ours=True,
    ),
    WatchField(
        "prune",
        "boolean",
        "false",
        "after a success, delete dependents that the run neither wrote nor read (how-to/prune.md)",
        ours=True,
    ),
    WatchField(
        "admission",
        "{validate, default, failurePolicy}",
        "",
        "what a custom resource has to pass before it is stored: the role's argument specs, and tasks of the role",
        ours=True,
    ),
    WatchField(
        "versions",
        "map of {to, from}",
        "{}",
        "other versions of the kind that the CRD serves: how a custom resource is converted to each, and back",
        ours=True,
    ),
    WatchField("goMessages", "boolean", "the flag", "tell failures in the Go operator's words", ours=True),
    WatchField("status", "map of JMESPath", "{}", "status fields from what the run came to", ours=True),
    WatchField(
        "executor",
        "auto, warm or cold",
        "the flag",
        "how runs are started, as by the flag: see warm.md",
        ours=True,
    ),
    WatchField(
        "crd",
        "what argument specs cannot say of a CRD",
        "",
        "for `generate crds`: see how-to/make-a-crd-from-a-role.md",
        ours=True,
    ),
)
