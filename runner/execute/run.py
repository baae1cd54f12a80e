"""What a run is, and what comes of it.

Deciding knows this module only; how a process is started stays behind the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from runner.config.watches import Content, Engine
from runner.objects import Body, ObjectKey

Event = Mapping[str, Any]
"""One ansible-runner event: `event`, `event_data`, `stdout`, `created`, `counter`, `uuid`."""

Sink = Callable[["Run", Event], None]
"""Is given every event of a run, in order, as it appears. Must not block; an exception in it is logged."""


@dataclass(frozen=True, slots=True)
class Run:
    """Everything an executor needs for one run; decided before anything starts.

    `ident` names the artifacts directory; `deadline` is in seconds from the start, None for no limit;
    `max_artifacts` below 1 keeps the artifacts of all runs; `kubeconfig` is the text of the file that
    the run's modules find through KUBECONFIG and K8S_AUTH_KUBECONFIG; `rescued_tasks_fail` counts a task that
    failed and was rescued as a failure, as the Go operator does; `console_verbosity` is that of the custom
    resource's annotation: above 0 the console shows a task's output as it is; `engine` is what was asked for.
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


class Ending(StrEnum):
    """Why a run's process is no more."""

    FINISHED = "finished"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Stats:
    """Counters of the host `localhost`, as in the play recap; `completion` is when the recap was written."""

    ok: int = 0
    changed: int = 0
    skipped: int = 0
    failures: int = 0
    completion: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    `stats` is None when Ansible ended without a recap (syntax error, crash, killed); `messages` are those of
    the tasks that failed (or could not reach their host) and were not ignored or rescued, in order;
    `unreachable` says that a host was; `tail` holds the last lines of output, for an ending without recap;
    `data` is what `set_stats` published, `facts` what `set_fact` set; `children` are the objects of its own that
    the run wrote or read, as the API server last answered; `requeue_after` is in seconds, where the role asked
    for it (0 too);
    `engine` is how it was started
    (warm or cold), `why_cold` why it was not warm though it might have been.
    """

    ending: Ending
    return_code: int
    stats: Stats | None
    messages: tuple[str, ...] = ()
    unreachable: bool = False
    tail: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    children: tuple[Body, ...] = field(default=(), repr=False)
    requeue_after: float | None = None
    engine: Engine = Engine.COLD
    why_cold: str = ""

    @property
    def succeeded(self) -> bool:
        return (
            self.ending is Ending.FINISHED
            and self.stats is not None
            and not self.messages
            and not self.unreachable
        )
