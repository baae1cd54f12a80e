"""The fields of a watch: what the reader of watches.yaml knows, and the reference shows."""

from __future__ import annotations

from dataclasses import dataclass


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
    WatchField("status", "map of JMESPath", "{}", "status fields from what the run came to", ours=True),
    WatchField(
        "executor", "auto, warm or cold", "the flag", "how runs are started: see performance.md", ours=True
    ),
)
