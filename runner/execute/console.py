"""What an operator's log shows of a run: blocks of Ansible's output on stdout, beside structured records.

The shape of both is the Go operator's, which people and their tools read. What to show is decided by pure
functions; only `Console` writes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import structlog

from runner.execute.output import visible
from runner.execute.run import Event, Run

_OPENING = "\n--------------------------- Ansible Task StdOut -------------------------------\n"
_CLOSING = "\n-------------------------------------------------------------------------------\n"
_QUIET_ACTIONS = frozenset({"set_fact", "debug"})
_LONGEST_OUTPUT = 64 * 1024


class LogEvents(StrEnum):
    """How much of a run to show (`--ansible-log-events`)."""

    TASKS = "tasks"
    EVERYTHING = "everything"
    NOTHING = "nothing"


def log_events(text: str) -> LogEvents | None:
    """The level that a flag names, in any case; None if there is none of that name."""
    try:
        return LogEvents(text.lower() or LogEvents.TASKS)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Block:
    """Text for stdout."""

    text: str


@dataclass(frozen=True, slots=True)
class Record:
    """A log record: `level` is `info` or `error`."""

    level: str
    event: str
    fields: Mapping[str, Any] = field(default_factory=dict)


def render(event: Event, run: Run, level: LogEvents, verbosity: int = 0) -> list[Block | Record]:
    """What to show of one event; `verbosity` above 0 shows the output of tasks as it is."""
    recap = _recap(event, run)
    if level is LogEvents.NOTHING:
        return recap
    if level is LogEvents.EVERYTHING:
        return [Record("info", "[ansible event]", {"EventData": event.get("event_data")}), *_block(event), *recap]
    if "task" not in (event.get("event_data") or {}):
        return recap
    return [Block(_text(event) + "\n")] if verbosity > 0 else _task(event)


def _task(event: Event) -> list[Block | Record]:
    data = event["event_data"]
    kind, action = event.get("event"), data.get("task_action")
    if kind == "playbook_on_task_start" and action not in _QUIET_ACTIONS:
        return [Record("info", "[playbook task start]", {"EventData.Name": data.get("name")}), *_block(event)]
    if kind == "runner_on_ok" and action == "debug":
        return [Record("info", "[playbook debug]", {"EventData.TaskArgs": data.get("task_args")}), *_block(event)]
    if kind == "runner_item_on_ok":
        return _block(event)
    if kind == "runner_on_failed":
        return [Record("error", "[playbook task failed]", _failed_task(data)), *_block(event)]
    return []


def _failed_task(data: Mapping[str, Any]) -> dict[str, Any]:
    shown = {"EventData.Task": data["task"], "EventData.TaskArgs": data.get("task_args")}
    return shown | ({"EventData.FailedTaskPath": data["task_path"]} if "task_path" in data else {})


def _block(event: Event) -> list[Block | Record]:
    text = _text(event)
    if not text:
        return []
    task = (event.get("event_data") or {}).get("task")
    title = (
        "" if event.get("event") == "playbook_on_task_start" else f"\n TASK [{visible(str(task))}] {'*' * 32} \n"
    )
    return [Block(f"{_OPENING}{title}{text}\n{_CLOSING}")]


def _recap(event: Event, run: Run) -> list[Block | Record]:
    if event.get("event") != "playbook_on_stats" or not _text(event):
        return []
    return [_titled("Ansible Task Status Event StdOut", run, _text(event))]


def _titled(title: str, run: Run, text: str) -> Block:
    where = f"{title} ({run.key.gvk}, {run.key.name}/{run.key.namespace})"
    return Block(f"\n----- {where:>70} -----\n\n{text}\n\n----------\n")


def _text(event: Event) -> str:
    return str(event.get("stdout") or "")


def _end_of(file: Path) -> str:
    """The last of a file's text, which may be of any length. Raises OSError."""
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - 4 * _LONGEST_OUTPUT))  # a character has four bytes at most
        return opened.read().decode(errors="replace")[-_LONGEST_OUTPUT:]


def render_exit(run: Run, return_code: int, output: str, *, debug: bool) -> list[Block | Record]:
    """What to show when the run's process has ended; `output` is all it wrote, of which an error shows the end."""
    whole: list[Block | Record] = [_titled("Ansible Debug Result", run, output)] if debug else []
    if return_code == 0:
        return [*whole, Record("info", "Ansible-runner exited successfully")]
    shown = output[-_LONGEST_OUTPUT:] or "Ansible-runner exited with an error, and without output"
    return [*whole, Record("error", shown, {"rc": return_code})]


class Console:
    """The sink that shows runs as they go. `write` takes whole blocks of text.

    `verbosity` is that of the environment's ANSIBLE_VERBOSITY, `debug` that of ANSIBLE_DEBUG_LOGS.
    """

    def __init__(
        self,
        level: LogEvents = LogEvents.TASKS,
        *,
        verbosity: int = 0,
        debug: bool = False,
        write: Callable[[str], object] | None = None,
    ) -> None:
        self._level = level
        self._verbosity = verbosity
        self._debug = debug
        self._write = write or _to_stdout
        self._log = structlog.get_logger("logging_event_handler")

    def __call__(self, run: Run, event: Event) -> None:
        verbosity = run.console_verbosity if run.console_verbosity > 0 else self._verbosity
        self._show(run, render(event, run, self._level, verbosity), event_type=str(event.get("event")))

    def exited(self, run: Run, return_code: int, stdout: Path) -> None:
        """The run's process has ended; all it wrote is in the file `stdout`."""
        output = ""
        if self._debug:
            output = stdout.read_text(encoding="utf-8", errors="replace")
        elif return_code != 0:
            output = _end_of(stdout)
        self._show(run, render_exit(run, return_code, output, debug=self._debug))

    def _show(self, run: Run, items: list[Block | Record], **fields: str) -> None:
        for item in items:
            if isinstance(item, Block):
                self._write(item.text)
            else:
                shown = {**_whose(run), **fields, **item.fields}
                (self._log.error if item.level == "error" else self._log.info)(item.event, **shown)


def _whose(run: Run) -> dict[str, str]:
    return {"job": run.ident, "name": run.key.name, "namespace": run.key.namespace, "gvk": str(run.key.gvk)}


def _to_stdout(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
