"""The tasks of a run, as its events tell of them: what came of each, where it stands, and why it failed. Pure.

What `no_log` hides is not in the events; of a result nothing is taken here but whether it changed something, and
why it is a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from runner.execute.failure import failed, name_of, place_of
from runner.execute.run import TASK_STARTS, Event

FAILED, RESCUED, IGNORED, UNENDED = "failed", "rescued", "ignored", "unfinished"
_ENDS = {
    "runner_on_ok": "ok",
    "runner_on_skipped": "skipped",
    "runner_on_failed": FAILED,
    "runner_on_unreachable": "unreachable",
}


@dataclass(frozen=True, slots=True)
class TaskResult:
    """`result` is ok, changed, skipped, failed, rescued (failed, and a block went on), ignored, unreachable, or
    unfinished, of which `seconds` are not known; `place` is its file:line, `message` why it failed.
    """

    name: str
    place: str
    result: str
    seconds: float | None = None
    message: str = ""


def task_results(events: Iterable[Event]) -> list[TaskResult]:
    """In the order in which they began; a task of several hosts once for each."""
    found: dict[tuple[str, str], TaskResult] = {}
    recap: Mapping[str, Any] = {}
    for event in events:
        kind, data = str(event.get("event")), event.get("event_data")
        if not isinstance(data, Mapping):
            continue
        task = str(data.get("task_uuid") or "")
        if kind in TASK_STARTS:
            found[task, ""] = TaskResult(name_of(data), place_of(data), UNENDED)
        elif kind in _ENDS:
            found.pop((task, ""), None)
            found[task, str(data.get("host") or event.get("uuid"))] = _ended(_ENDS[kind], event, data)
        elif kind == "playbook_on_stats":
            recap = data
    return list(_rescued(found.values(), recap))


def _ended(result: str, event: Event, data: Mapping[str, Any]) -> TaskResult:
    details, seconds, text = data.get("res"), data.get("duration"), str(event.get("stdout") or "")
    took = float(seconds) if isinstance(seconds, int | float) else None
    ended = TaskResult(name_of(data), place_of(data), result, took)
    if result in (FAILED, "unreachable"):
        why = failed(data, text=text, unreachable=result == "unreachable")
        message = f"{why.cause} ({why.item})" if why.item else why.cause
        place = why.place or ended.place
        return replace(
            ended, result=IGNORED if data.get("ignore_errors") else result, message=message, place=place
        )
    changed = result == "ok" and isinstance(details, Mapping) and details.get("changed") is True
    return replace(ended, result="changed") if changed else ended


def _rescued(tasks: Iterable[TaskResult], recap: Mapping[str, Any]) -> Iterator[TaskResult]:
    """Ansible counts those that were rescued; a failure that no block rescues is the last of its host."""
    rescued = recap.get("rescued")
    left = (
        sum(count for count in rescued.values() if isinstance(count, int)) if isinstance(rescued, Mapping) else 0
    )
    for task in tasks:
        if task.result == FAILED and left > 0:
            left -= 1
            yield replace(task, result=RESCUED)
        else:
            yield task
