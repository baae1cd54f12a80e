"""watches.yaml as data: which kind is reconciled by which role or playbook, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from runner.objects import GroupVersionKind
from runner.selector import Selector


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

    `status` maps a field of the custom resource's status to a JMESPath expression over the run's result; `engine`
    is None where the flag decides.
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
    status: Mapping[str, str] = field(default_factory=dict)
    engine: Engine | None = None
