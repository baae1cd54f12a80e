"""What Ansible refuses when it loads content: keywords and modules that it does not know, plays without hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.config.yamlfile import Located
from runner.validate.content.closure import Source, Step, keywords_of
from runner.validate.content.installed import Installed
from runner.validate.content.jinja import has_jinja
from runner.validate.content.modules import meant
from runner.validate.content.tasks import ACTIONS
from runner.validate.documents import child, entries, members, text
from runner.validate.findings import Finding

_LOCAL = ("localhost", "127.0.0.1", "::1", "all", "ungrouped")
_PATTERN = re.compile(r"[*?~!&\[]")
"""What makes a host pattern more than a name."""
_IMPORTS = ("import_playbook", "ansible.builtin.import_playbook", "ansible.legacy.import_playbook")
_MAKES_HOSTS = ("add_host", "group_by")


def check_task(step: Step, installed: Installed) -> Iterator[Finding]:
    """Keys of a task or block that are neither keywords nor a module, and tasks with no module or with two."""
    source, task = step.source, step.task
    keywords = keywords_of(source, task, installed)
    unknown = list(step.strangers)
    modules = [name for name, module in step.strangers.items() if module]
    line = task.node.line
    if not task.is_block and len(modules) > 1:
        message = f"has two modules, {' and '.join(modules)}: make it two tasks"
        yield Finding("task-invalid", source.file, line, task.field, message)
    elif not task.is_block and not unknown and not any(name in entries(task.node) for name in ACTIONS):
        yield Finding("task-invalid", source.file, line, task.field, "has no module: a task must name one")
    for name in unknown:
        if name not in modules:
            may_be_module = not modules and not task.is_block and step.call is not None and step.call.name == name
            yield _unknown(step, name, keywords, installed, may_be_module)
    if step.call and step.module is None and step.call.name not in unknown:  # of `action`
        yield _unknown(step, step.call.name, keywords, installed, True)


def _unknown(
    step: Step, name: str, keywords: frozenset[str], installed: Installed, may_be_module: bool
) -> Finding:
    value = child(step.task.node, name)
    known = set(keywords)
    if may_be_module:
        collection = ".".join(name.split(".")[:2])
        known |= installed.names_of(collection) if name.count(".") >= 2 else installed.suggestions("modules")
        what = "no module" if name.count(".") >= 2 else "neither a module nor a keyword"
        rule = "module-unknown"
    else:
        what = f"no keyword of a {'block' if step.task.is_block else 'task'}"
        rule = "keyword-unknown"
    line = value.line if value.value is not None and not isinstance(value.value, dict | list) else 0
    hint = meant(name, known) or (
        "; is its collection's name missing?" if may_be_module and "." not in name else ""
    )
    field = f"{step.task.field}.{name}"
    return Finding(rule, step.source.file, line or step.task.node.line, field, f"{name} is {what}{hint}")


def check_play(
    source: Source, index: int, play: Located, installed: Installed, *, hosts: bool
) -> Iterator[Finding]:
    """What is wrong with a play beside its tasks; `hosts` says that its hosts can be known."""
    if any(name in entries(play) for name in _IMPORTS) or not entries(play):
        return
    keywords = installed.keywords("play")
    for name, value in entries(play).items():
        if name not in keywords and name != "user":
            message = f"{name} is no keyword of a play{meant(name, keywords)}"
            yield Finding("keyword-unknown", source.file, value.line, f"[{index}].{name}", message)
    given = child(play, "hosts")
    if given.value is None:
        message = "a play must have hosts: write `hosts: localhost`"
        yield Finding("play-hosts", source.file, play.line, f"[{index}]", message)
    elif hosts and not _matches(given):
        message = (
            f"no host matches {_shown(given)}, and nothing would be run: the operator's inventory has localhost"
            " alone; write `hosts: localhost`"
        )
        yield Finding("play-hosts", source.file, given.line, f"[{index}].hosts", message)


def makes_hosts(steps: list[Step]) -> bool:
    """Whether tasks add hosts or groups while they run."""
    return any(step.call and step.call.short in _MAKES_HOSTS for step in steps)


def _shown(given: Located) -> str:
    return ", ".join(map(str, (text(item) for item in members(given)))) if members(given) else str(given.value)


def _matches(given: Located) -> bool:
    patterns = [text(item) for item in members(given)] or re.split(r"[,:](?!:)", text(given))
    return any(pattern.strip() in _LOCAL or has_jinja(pattern) or _PATTERN.search(pattern) for pattern in patterns)
