"""What an operator's log shows of a run's events: Ansible's output in blocks, beside structured records.

The shape of both is the Go operator's, which people and their tools read; where the log is JSON, a block is a
record too, and its text a field. What to show is decided by pure functions; only `Console` writes. On a terminal
there is less of it, for `control/narrator` says there how runs go.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import structlog

from runner.config.settings import Settings
from runner.execute.output import visible
from runner.execute.run import Event, Run
from runner.objects import GroupVersionKind

_TASK, _RECAP, _WHOLE = "Ansible Task StdOut", "Ansible Task Status Event StdOut", "Ansible Debug Result"
_OPENING = f"\n--------------------------- {_TASK} -------------------------------\n"
_CLOSING = "\n-------------------------------------------------------------------------------\n"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_QUIET_ACTIONS = frozenset({"set_fact", "debug"})
_LONGEST_OUTPUT = 64 * 1024
_log = structlog.get_logger(__name__)


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
    """Output of Ansible; `title` says of what, empty for a task's as it is, and `task` of which where it must."""

    text: str
    title: str = ""
    task: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """A log record: `level` is `info` or `error`."""

    level: str
    event: str
    fields: Mapping[str, Any] = field(default_factory=dict)


def render(event: Event, level: LogEvents, verbosity: int = 0, *, terminal: bool = False) -> list[Block | Record]:
    """What to show of one event; `verbosity` above 0 shows the output of tasks as it is."""
    if level is LogEvents.EVERYTHING:
        return [
            Record("info", "[ansible event]", {"EventData": event.get("event_data")}),
            *_block(event),
            *_recap(event),
        ]
    recap = [] if terminal else _recap(event)
    if level is LogEvents.NOTHING or "task" not in (event.get("event_data") or {}):
        return recap
    if verbosity > 0:
        return [Block(_text(event))]
    return [] if terminal else _task(event)


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
    return [Block(text, _TASK, "" if event.get("event") == "playbook_on_task_start" else visible(str(task)))]


def _recap(event: Event) -> list[Block | Record]:
    if event.get("event") != "playbook_on_stats" or not _text(event):
        return []
    return [Block(_text(event), _RECAP)]


def as_text(block: Block, run: Run) -> str:
    """A block as the Go operator prints it."""
    if not block.title:
        return f"{block.text}\n"
    if block.title == _TASK:
        task = f"\n TASK [{block.task}] {'*' * 32} \n" if block.task else ""
        return f"{_OPENING}{task}{block.text}\n{_CLOSING}"
    where = f"{block.title} ({run.key.gvk}, {run.key.name}/{run.key.namespace})"
    return f"\n----- {where:>70} -----\n\n{block.text}\n\n----------\n"


def as_record(block: Block) -> Record:
    """A block as a record."""
    task = {"EventData.Task": block.task} if block.task else {}
    return Record("info", block.title or "Ansible output", {**task, "stdout": _COLOUR.sub("", block.text)})


def _text(event: Event) -> str:
    return str(event.get("stdout") or "")


def _end_of(file: Path) -> str:
    """The last of a file's text, which may be of any length. Raises OSError."""
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - 4 * _LONGEST_OUTPUT))  # a character has four bytes at most
        return opened.read().decode(errors="replace")[-_LONGEST_OUTPUT:]


def render_exit(return_code: int, output: str, *, debug: bool, terminal: bool = False) -> list[Block | Record]:
    """What to show when the run's process has ended; `output` is all it wrote, of which an error shows the end."""
    whole: list[Block | Record] = [Block(output, _WHOLE)] if debug else []
    if terminal:
        return whole
    if return_code == 0:
        return [*whole, Record("info", "Ansible-runner exited successfully")]
    shown = output[-_LONGEST_OUTPUT:] or "Ansible-runner exited with an error, and without output"
    return [*whole, Record("error", shown, {"rc": return_code})]


class Console:
    """The sink that shows runs as they go.

    On a `terminal`, or wherever people read, blocks are text for `write`. `verbosity` is that of the environment's
    ANSIBLE_VERBOSITY, `debug` that of ANSIBLE_DEBUG_LOGS.
    """

    def __init__(
        self,
        level: LogEvents = LogEvents.TASKS,
        *,
        verbosity: int = 0,
        debug: bool = False,
        terminal: bool = False,
        write: Callable[[str], object] | None = None,
    ) -> None:
        self._level = level
        self._verbosity = verbosity
        self._debug = debug
        self._terminal = terminal
        self._write = write or _to_stdout
        self._log = structlog.get_logger("logging_event_handler")

    def __call__(self, run: Run, event: Event) -> None:
        verbosity = run.console_verbosity if run.console_verbosity > 0 else self._verbosity
        items = render(event, self._level, verbosity, terminal=self._terminal)
        if items:
            self._show(run, items, event_type=str(event.get("event")))

    def exited(self, run: Run, return_code: int, stdout: Path) -> None:
        """The run's process has ended; all it wrote is in the file `stdout`."""
        output = ""
        if self._debug:
            output = stdout.read_text(encoding="utf-8", errors="replace")
        elif return_code != 0 and not self._terminal:
            output = _end_of(stdout)
        self._show(run, render_exit(return_code, output, debug=self._debug, terminal=self._terminal))

    def _show(self, run: Run, items: list[Block | Record], **fields: str) -> None:
        for item in items:
            if isinstance(item, Block) and self._terminal:
                self._write(as_text(item, run))
                continue
            record = as_record(item) if isinstance(item, Block) else item
            shown = {**_whose(run), **fields, **record.fields}
            (self._log.error if record.level == "error" else self._log.info)(record.event, **shown)


def _whose(run: Run) -> dict[str, str]:
    return {"job": run.ident, "name": run.key.name, "namespace": run.key.namespace, "gvk": str(run.key.gvk)}


def _to_stdout(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def console_for(settings: Settings, kinds: Iterable[GroupVersionKind]) -> Console:
    """The console that these settings ask for; a mistake is said for each kind, as the Go operator does."""
    level = log_events(settings.ansible_log_events)
    for gvk in kinds if level is None else ():
        message = "--ansible-log-events is none of tasks, everything, nothing; using tasks"
        _log.error(message, gvk=str(gvk), value=settings.ansible_log_events)
    return Console(
        level or LogEvents.TASKS,
        verbosity=settings.console_verbosity,
        debug=settings.debug_logs,
        terminal=settings.log_encoder == "console",
    )
