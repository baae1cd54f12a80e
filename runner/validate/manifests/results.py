"""Whether what a watch's `status` asks of a run can be there: published data, objects it writes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from runner.config.expressions import asked_data, asked_kinds, syntax_error
from runner.validate.findings import Finding
from runner.validate.manifests.crds import Watched

ANYTHING = "*"
"""Published or written: what the files do not tell."""
_OPAQUE = ("helm", "helm_template", "command", "shell", "script", "raw", "expect", "include_role", "import_role")
"""Modules that may write any kind, or run what does."""
TASK_LISTS = ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks", "handlers")


def check(item: Watched, tasks: Iterable[Any], kinds: set[str]) -> Iterator[Finding]:
    """`tasks` is every file of tasks or plays of the watch; `kinds` those that they touch, or more."""
    published = {name for file in tasks for name in published_in(file)}
    for field, expression in item.watch.status.items():
        if syntax_error(expression):
            continue
        place = (item.file, item.line_of("status", field), f"status.{field}")
        missing = sorted(asked_data(expression) - published)
        if missing and ANYTHING not in published:
            message = (
                f"nothing publishes {', '.join(missing)}: add a task `ansible.builtin.set_stats` with"
                f" `data: {{{missing[0]}: …}}`"
            )
            yield Finding("status-unpublished", *place, message)
        unwritten = sorted(asked_kinds(expression) - kinds)
        if unwritten and ANYTHING not in kinds:
            message = (
                f"no task names the kind {', '.join(unwritten)}; known are {', '.join(sorted(kinds)) or 'none'}"
            )
            yield Finding("status-kind-unwritten", *place, message)


def published_in(node: Any) -> Iterator[str]:  # noqa: ANN401  (any YAML)
    """The names that the tasks in `node` publish with set_stats."""
    for name, arguments in modules_in(node):
        if name == "set_stats":
            data = arguments.get("data") if isinstance(arguments, dict) else None
            yield from map(str, data) if isinstance(data, dict) else [ANYTHING]
            if isinstance(data, dict) and any("{{" in str(key) for key in data):
                yield ANYTHING


def is_opaque(node: Any) -> bool:  # noqa: ANN401  (any YAML)
    """Whether a task in `node` may write what is not to be seen in it."""
    return any(name in _OPAQUE for name, _ in modules_in(node))


def modules_in(node: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  (any YAML)
    """Each keyword of each task, the module's short name among them, with its value."""
    for task in node if isinstance(node, list) else ():
        for key, value in task.items() if isinstance(task, dict) else ():
            if key in TASK_LISTS:
                yield from modules_in(value)
            else:
                yield str(key).rpartition(".")[2], value
