"""What came of a run, by its events: a pure fold, `fold(state, event) -> state`, then `conclude`.

Ansible doesn't say in an event whether a failed task was rescued; its recap counts them. A failure that no
block rescues ends the host's part of the play, so of the failures of a host the last ones, as many as the recap
counts as `failures`, are those that were not rescued. (Only a rescue within an `always` section that runs after
such a failure makes this name the wrong task of the two; that the run failed is right even then.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from runner.config.golang import parse_duration
from runner.config.watches import Engine
from runner.differences import Difference
from runner.execute import cause
from runner.execute.failure import Failure, ended, failed, untold
from runner.execute.output import completion
from runner.execute.run import TASK_STARTS, Event
from runner.objects import Body

_REQUEUE = "requeue_after"
_REQUEUE_FULL = "operator_sdk.util.requeue_after"
_SET_FACT = frozenset({"set_fact", "ansible.builtin.set_fact", "ansible.legacy.set_fact"})
_META = frozenset({"meta", "ansible.builtin.meta", "ansible.legacy.meta"})
_UNMATCHED = re.compile(
    r"Could\s+not\s+match\s+supplied\s+host\s+pattern,\s+ignoring:\s+\S+"
    r"|Unable\s+to\s+parse\s.{1,4096}?\sas\s+an\s+inventory\s+source",
    re.DOTALL,
)
"""Warnings that Ansible gives when a play may lack hosts; releases before 2.19 wrap them."""
_AT_TASK = TASK_STARTS | {"error"}
"""Events that say at which task the play is."""
_WORDS = frozenset({"verbose", "error"})
_OK = frozenset({"runner_on_ok", "runner_item_on_ok"})
MOST_CHANGED = 10
_TAIL_LINES = 20
_TAIL_WIDTH = 1000
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Ending(StrEnum):
    """Why a run's process is no more."""

    FINISHED = "finished"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    MEMORY = "memory"


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
    the tasks that failed (or could not reach their host) and were not ignored or rescued, in order, as the Go
    operator has them; `failures` say for people why the run failed and where, in whichever way it did;
    `unreachable` says that a host was; `tail` holds the last lines of output, for an ending without recap;
    `data` is what `set_stats` published, `facts` what `set_fact` set; `children` are the objects of its own that
    the run wrote or read, as the API server last answered; of a check run, `differences` are the objects that a
    real one would change, `uncompared` says of which nobody knows; `requeue_after` is in seconds, where the role
    asked for it (0 too); `forgiven` counts tasks that failed and were rescued or ignored; `engine` is how it was
    started (warm or cold), `why_cold` why it was not warm though it might have been; `changed` names the first
    MOST_CHANGED tasks that changed something; `left_out` says why a run that succeeded may have left out plays or
    tasks, empty if it didn't.
    """

    ending: Ending
    return_code: int
    stats: Stats | None
    messages: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    unreachable: bool = False
    tail: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    children: tuple[Body, ...] = field(default=(), repr=False)
    differences: tuple[Difference, ...] = ()
    uncompared: tuple[str, ...] = ()
    requeue_after: float | None = None
    forgiven: int = 0
    engine: Engine = Engine.COLD
    why_cold: str = ""
    changed: tuple[str, ...] = ()
    left_out: str = ""

    @property
    def succeeded(self) -> bool:
        return (
            self.ending is Ending.FINISHED
            and self.stats is not None
            and not self.messages
            and not self.unreachable
        )


def result_of(outcome: Outcome) -> str:
    """In a word: succeeded, failed, or interrupted."""
    if outcome.ending is Ending.CANCELLED:
        return "interrupted"
    return "succeeded" if outcome.succeeded else "failed"


@dataclass(frozen=True, slots=True)
class State:
    """What is known so far: `task` is the event data of the last task, `recap` Ansible's last event,
    `error` the last error that Ansible printed outside of a result, with the lines after it; `ends` counts the
    `meta` tasks that ended something early; `unmatched` says which hosts weren't there; `jobs` are those in the
    background (`async`) that aren't known to have finished.
    """

    failures: tuple[Failure, ...] = ()
    recap: Event | None = None
    requeue_after: float | None = None
    refused: tuple[Failure, ...] = ()
    task: Mapping[str, Any] = field(default_factory=dict, repr=False)
    tail: tuple[str, ...] = field(default=(), repr=False)
    error: str = field(default="", repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    changed: tuple[str, ...] = ()
    ends: int = 0
    unmatched: str = ""
    jobs: frozenset[str] = frozenset()


def fold(state: State, event: Event) -> State:
    """The state after one more event."""
    kind, data, text = str(event.get("event")), event.get("event_data") or {}, event.get("stdout")
    changes: dict[str, Any] = {}
    if kind in _AT_TASK:
        changes["task"] = data
        changes["ends"] = state.ends + (kind in TASK_STARTS and _ends_early(data))
    elif kind == "runner_on_skipped" and state.ends and _ends_early(data):
        changes["ends"] = state.ends - 1  # its condition was false
    elif kind == "playbook_on_no_hosts_matched":
        changes["unmatched"] = "no hosts matched"
    elif kind == "playbook_on_stats":
        changes["recap"] = event
    else:
        state = _noted(state, kind, data, text)
    if text:
        changes["tail"] = _longer(state.tail, text)
        if not state.unmatched and (unmatched := _UNMATCHED.search(text)):
            changes["unmatched"] = unmatched[0]
        if kind in _WORDS and (state.error or cause.ERROR_LINE.match(text)):
            changes["error"] = cause.with_error(state.error, text)
    return replace(state, **changes) if changes else state


def _ends_early(data: Mapping[str, Any]) -> bool:
    """Whether the task is a `meta` that ends a play, batch, role or host, or one whose words are hidden."""
    if data.get("task_action") not in _META:
        return False
    words = str(data.get("task_args") or "")
    return "end_" in words or "_raw_params=" not in words


def _noted(state: State, kind: str, data: Mapping[str, Any], text: object) -> State:
    result = data.get("res")
    if isinstance(result, Mapping) and "period" in result and _asks_to_requeue(kind, data):
        return _requeued(state, result["period"], data)
    if kind in _OK and isinstance(result, Mapping) and isinstance(result.get("ansible_job_id"), str):
        state = replace(
            state, jobs=_jobs(state.jobs, result["ansible_job_id"], finished=bool(result.get("finished")))
        )
    if kind in _OK and str(data.get("task_action")) in _SET_FACT and isinstance(result, Mapping):
        return replace(state, facts={**state.facts, **_mapping(result.get("ansible_facts"))})
    if kind == "runner_on_ok" and isinstance(result, Mapping) and result.get("changed") is True:
        name = str(data.get("task") or "").removeprefix(f"{data.get('role')} : ")
        return replace(state, changed=(*state.changed, name[:_TAIL_WIDTH])[:MOST_CHANGED])
    away = kind == "runner_on_unreachable"
    if away or (kind == "runner_on_failed" and not data.get("ignore_errors")):
        return replace(state, failures=(*state.failures, failed(data, text=str(text or ""), unreachable=away)))
    return state


def _asks_to_requeue(kind: str, data: Mapping[str, Any]) -> bool:
    action = data.get("task_action")
    return action == _REQUEUE_FULL or (action == _REQUEUE and kind != "runner_on_failed")


def _requeued(state: State, period: object, data: Mapping[str, Any]) -> State:
    """The first period counts; one that is no duration makes the run a failed one."""
    try:
        seconds = parse_duration(str(period))
    except ValueError as error:
        refusal = replace(ended(f"requeue_after: {error}", data), message=f"requeue_after: {error}")
        known = any(other.message == refusal.message for other in state.refused)
        return state if known else replace(state, refused=(*state.refused, refusal))
    return state if state.requeue_after is not None else replace(state, requeue_after=seconds)


def _longer(tail: tuple[str, ...], text: str) -> tuple[str, ...]:
    lines = text[-_TAIL_LINES * _TAIL_WIDTH :].splitlines()
    return (*tail, *(line[:_TAIL_WIDTH] for line in lines))[-_TAIL_LINES:]


def conclude(
    state: State,
    *,
    ending: Ending,
    return_code: int,
    rescued_tasks_fail: bool = False,
    deadline: float | None = None,
    memory: str = "",
) -> Outcome:
    """Of a run that is over; `deadline`, in seconds, and the container's `memory` are told where they ended it."""
    recap = _mapping((state.recap or {}).get("event_data"))
    counted = state.failures
    if state.recap is not None:
        counted = _final(counted, recap, rescued_tasks_fail=rescued_tasks_fail)
    note = (f"ended by its deadline of {deadline:g} seconds",) if ending is Ending.DEADLINE and deadline else ()
    tail = _COLOUR.sub("", "\n".join((*state.tail, *note)[-_TAIL_LINES:]))
    last_words = _last_words(state, ending, return_code, deadline, memory) if state.recap is None else ()
    return Outcome(
        ending=ending,
        return_code=return_code,
        stats=None if state.recap is None else _stats(recap, str(state.recap.get("created", ""))),
        messages=tuple(failure.message for failure in (*counted, *state.refused)),
        failures=(*last_words, *counted, *state.refused),  # of the others some may have been rescued
        unreachable=any(failure.unreachable for failure in counted),
        tail=tail,
        data=_mapping(recap.get("artifact_data")),
        facts=state.facts,
        forgiven=sum(sum(_counts(recap, name).values()) for name in ("rescued", "ignored")),
        requeue_after=state.requeue_after,
        changed=state.changed,
        left_out=_left_out(state),
    )


def _left_out(state: State) -> str:
    if state.unmatched:
        return f"a play of it had no hosts, or not all ({state.unmatched[:_TAIL_WIDTH]})"
    if state.jobs:
        return "a task of it still went on in the background (async)"
    return "a meta task ended a play, batch, role or host of it early" if state.ends else ""


def _jobs(jobs: frozenset[str], job: str, *, finished: bool) -> frozenset[str]:
    return jobs - {job} if finished else jobs | {job}


def _last_words(state: State, ending: Ending, code: int, deadline: float | None, memory: str) -> Iterable[Failure]:
    """Why there is no recap, as far as anything tells."""
    place = ""
    if ending is Ending.DEADLINE:
        limit = f"{deadline:g} s (--run-deadline)" if deadline else "its deadline"
        why = f"The run was ended because it took longer than {limit}"
    elif ending is Ending.MEMORY:
        why = f"The run was ended because the container was running out of memory: {memory}"
    elif ending is Ending.CANCELLED or state.failures:
        return ()
    elif cause.killed(code):
        told = f": the container's {memory}" if memory else ""
        why = f"Ansible was killed (exit code {code}), likely for want of memory{told}"
    elif state.error:
        found = cause.of_output(_COLOUR.sub("", state.error))
        why, place = found.text, ":".join(filter(None, (found.file, found.line)))
    else:
        last = next((line for line in reversed(state.tail) if line.strip()), "")
        why = f"Ansible ended without a recap, exit code {code}" + (f": {last}" if last else "")
    return (ended(why, state.task, place=place),)


def _final(
    failures: tuple[Failure, ...], recap: Mapping[str, Any], *, rescued_tasks_fail: bool
) -> tuple[Failure, ...]:
    """The failures that were neither rescued nor ignored, in order; one in their place if no event told of it."""
    left = {(False, host): count for host, count in _counts(recap, "failures").items()}
    left |= {(True, host): count for host, count in _counts(recap, "dark").items()}
    if rescued_tasks_fail:
        for host, count in _counts(recap, "rescued").items():
            left[False, host] = left.get((False, host), 0) + count
    kept: list[Failure] = []
    for failure in reversed(failures):
        place = (failure.unreachable, failure.host)
        if left.get(place, 0) > 0:
            left[place] -= 1
            kept.append(failure)
    untold_of = (place for place, count in left.items() if count > 0)
    return (*reversed(kept), *(untold(host, unreachable=unreachable) for unreachable, host in untold_of))


def _counts(recap: Mapping[str, Any], what: str) -> Mapping[str, int]:
    return {host: count for host, count in _mapping(recap.get(what)).items() if isinstance(count, int)}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _stats(recap: Mapping[str, Any], created: str) -> Stats:
    counts = {name: _counts(recap, name).get("localhost", 0) for name in ("ok", "changed", "skipped", "failures")}
    return Stats(**counts, completion=completion(created))
