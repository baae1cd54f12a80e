"""What a run is: all that is decided of it before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from runner.config.watches import Content, Engine
from runner.objects import ObjectKey

Event = Mapping[str, Any]
"""One ansible-runner event: `event`, `event_data`, `stdout`, `created`, `counter`, `uuid`."""

Sink = Callable[["Run", Event], None]
"""Is given every event of a run, in order, as it appears. Must not block; an exception in it is logged."""

TASK_STARTS = frozenset({"playbook_on_task_start", "playbook_on_handler_task_start"})
"""Names of events."""


@dataclass(frozen=True, slots=True)
class Run:
    """Everything an executor needs for one run; decided before anything starts.

    `ident` names the artifacts directory; `deadline` is in seconds from the start, None for no limit;
    `max_artifacts` below 1 keeps the artifacts of all runs; `kubeconfig` is the text of the file that
    the run's modules find through KUBECONFIG and K8S_AUTH_KUBECONFIG; `rescued_tasks_fail` counts a task that
    failed and was rescued as a failure, as the Go operator does; `console_verbosity` is that of the custom
    resource's annotation: above 0 the console shows a task's output as it is; `engine` is what was asked for;
    `watches` is the watches file that asks for it; `why` holds its reasons, attempt and previous result; `calls`
    grows by those that it makes of the API.
    """

    ident: str
    key: ObjectKey
    uid: str
    content: Content
    extra_vars: Mapping[str, Any]
    kubeconfig: str = field(repr=False)
    verbosity: int = 2
    max_artifacts: int = 20
    deadline: float | None = None
    gather_facts: bool = True
    ansible_args: str = ""
    rescued_tasks_fail: bool = False
    console_verbosity: int = 0
    engine: Engine = Engine.AUTO
    generation: int = 0
    watches: str = ""
    why: Mapping[str, Any] = field(default_factory=dict)
    calls: Set[tuple[str, ...]] = frozenset()
