"""Why a task failed, and where: what one event says of it, in a sentence for people. Pure.

Whatever a role or a tenant can put into an event is bounded here, and its control characters are written out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from runner.errors import without_account
from runner.execute import cause
from runner.execute.cause import Cause
from runner.execute.output import visible

UNKNOWN_FAILURE = "unknown playbook failure"
LONGEST = 300
"""Characters of one failure, cause and place."""
LONGEST_WRITTEN = 1024
"""Characters of what a role's author wrote: as much as an Event can carry."""
_LONGEST_TASK = 60
_LONGEST_PLACE = 100
_READ = 8192
"""So many characters of a text are looked at, half of them from either end."""
_MOST_ITEMS = 20
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_GENERATED = re.compile(r"/project/[0-9a-f]{32}(?::\d+)?\Z")
_COLLECTION = re.compile(r".*/ansible_collections/([^/]+)/([^/]+)/(.+)\Z")
_KNOWN_DIRECTORIES = re.compile(r".*/((?:roles|playbooks)/.+)\Z")


@dataclass(frozen=True, slots=True)
class Failure:
    """A task that failed, or could not reach its host; or a run that ended in a bad way, then without a `host`.

    `message` is the text that the Go operator shows; `cause` says the same for people, `task`, `place` (file:line)
    and `item` ("item 2 of 3") say where. `written` marks a cause that the role's author wrote, which stands alone;
    `template` is the file of the role's that the cause is in, where Ansible does not name its line.
    """

    host: str
    message: str
    unreachable: bool = False
    cause: str = ""
    task: str = ""
    place: str = ""
    item: str = ""
    written: bool = False
    template: str = ""

    @property
    def told(self) -> str:
        """What people read of it: the cause, then where; never longer than LONGEST, or LONGEST_WRITTEN."""
        if self.written:
            return shortened(self.cause, LONGEST_WRITTEN)
        where = ", ".join(filter(None, (self.task, self.place, self.item)))
        where = f" ({where})" if where else ""
        return shortened(self.cause or one_line(without_account(self.message)), LONGEST - len(where)) + where


def failed(data: Mapping[str, Any], *, text: str = "", unreachable: bool = False) -> Failure:
    """What an event's `event_data` tells of its task; `text` is what Ansible printed of it."""
    result = _mapping(data.get("res"))
    results, number = _item(result)
    why = cause.of(str(data.get("resolved_action") or data.get("task_action")), results[0], text)
    if why.written and len(results) > 1:
        rest = [cause.of(str(data.get("task_action")), other, "").text for other in results[1:_MOST_ITEMS]]
        why = Cause("\n".join((why.text, *rest)), written=True)
    host = str(data.get("host", ""))
    prefix = f"Host {host} is unreachable: " if unreachable else ""
    return Failure(
        host,
        message(data.get("res")),
        unreachable,
        cause=clean(why.text) if why.written else shortened(one_line(prefix + without_account(why.text)), LONGEST),
        task=task_of(data),
        place=place_of(data, why),
        item=", ".join(filter(None, (number, _attempts(results[0])))),
        written=why.written,
        template=_template(data, why),
    )


def untold(host: str, *, unreachable: bool) -> Failure:
    """A failure that the recap counts, and of which no event told."""
    cause_ = (
        f"Host {host} was unreachable"
        if unreachable
        else f"A task failed on {host}, and Ansible did not say which"
    )
    return Failure(host, UNKNOWN_FAILURE, unreachable, cause=one_line(cause_))


def ended(why: str, data: Mapping[str, Any], *, place: str = "") -> Failure:
    """A run that ended in a bad way, where its last task began with `data`; `place` is known better."""
    return Failure(
        "",
        "",
        cause=one_line(without_account(why)),
        task=task_of(data),
        place=shown_place(place) or place_of(data),
    )


def message(result: object) -> str:
    """The text of the Go operator."""
    text = result.get("msg") if isinstance(result, Mapping) else None
    return text if isinstance(text, str) else UNKNOWN_FAILURE


def task_of(data: Mapping[str, Any]) -> str:
    """The task's name, or its action; nothing for an event without a task."""
    name = str(data.get("task") or data.get("task_action") or "")
    return _cut(one_line(name), _LONGEST_TASK)


def name_of(data: Mapping[str, Any]) -> str:
    """The same without the role before it, which the task's place tells."""
    return task_of({**data, "task": str(data.get("task") or "").removeprefix(f"{data.get('role')} : ")})


def shown_place(path: str) -> str:
    """`roles/website/tasks/main.yml:5`: a path as its author knows it; nothing for a play of our own."""
    if not path or path == "<unknown>" or _GENERATED.search(path):
        return ""
    if inside := _COLLECTION.match(path):
        path = f"{inside[1]}.{inside[2]}/{inside[3]}"
    elif known := _KNOWN_DIRECTORIES.match(path):
        path = known[1]
    path = one_line(path)
    return path if len(path) <= _LONGEST_PLACE else "…" + path[1 - _LONGEST_PLACE :]


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def clean(text: str) -> str:
    """Without colours, and with all other control characters but line breaks and tabs written out."""
    return visible(_COLOUR.sub("", cause.ends(text, _READ))).strip()


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters: what is left out is in the middle, so that a cause is not lost at the end."""
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}…{text[head + 1 - limit :]}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _item(result: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], str]:
    """The results of the items of a loop that failed, and which that is first; else the result itself."""
    results = result.get("results")
    if not isinstance(results, Sequence) or isinstance(results, str):
        return [result], ""
    failing = [n for n, item in enumerate(results) if isinstance(item, Mapping) and _has_failed(item)]
    if not failing:
        return [result], ""
    more = f" and {len(failing) - 1} more" if len(failing) > 1 else ""
    return [results[n] for n in failing], f"item {failing[0] + 1} of {len(results)}{more}"


def _has_failed(item: Mapping[str, Any]) -> bool:
    return bool(item.get("failed") or item.get("unreachable"))


def _attempts(result: Mapping[str, Any]) -> str:
    attempts = result.get("attempts")
    return f"after {attempts} attempts" if isinstance(attempts, int) and attempts > 1 else ""


def place_of(data: Mapping[str, Any], why: Cause | None = None) -> str:
    """The line that the error names, in the task's own file; else the task's; else the role."""
    path = str(data.get("task_path") or "")
    file = path.rpartition(":")[0]
    if why is not None and why.line and why.file == file:
        path = f"{file}:{why.line}"
    place = "" if _GENERATED.search(path) else shown_place(_beside(path, str(data.get("playbook") or "")))
    role = str(data.get("role") or "")
    return place or (_cut(one_line(f"role {role}"), _LONGEST_PLACE) if role else "")


def _template(data: Mapping[str, Any], why: Cause) -> str:
    """Only a file of the task's own role: anybody may have made Ansible print a path."""
    role = str(data.get("task_path") or "").rpartition("/tasks/")[0]
    own = role and why.file.startswith(f"{role}/templates/") and ".." not in PurePath(why.file).parts
    return why.file if own and not why.line else ""


def _beside(path: str, playbook: str) -> str:
    """Relative to the playbook's directory, if it is below that."""
    directory = PurePath(playbook).parent
    inside = playbook.startswith("/") and PurePath(path).is_relative_to(directory)
    return str(PurePath(path).relative_to(directory)) if inside else path


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
