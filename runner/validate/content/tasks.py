"""The tasks of a document one by one: module, arguments, keywords, and the blocks and play they are in. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.config.yamlfile import Located
from runner.validate.documents import child, entries, members, text

BLOCK_LISTS = ("block", "rescue", "always")
PLAY_LISTS = ("pre_tasks", "tasks", "post_tasks", "handlers")
ACTIONS = ("action", "local_action")
BUILTIN = ("ansible.builtin.", "ansible.legacy.")


@dataclass(frozen=True, slots=True)
class Task:
    """A task, or a block as a whole; `field` is where in its file, `around` the play and blocks it is in."""

    node: Located
    field: str
    around: tuple[Located, ...]

    @property
    def is_block(self) -> bool:
        return any(name in entries(self.node) for name in BLOCK_LISTS)

    @property
    def name(self) -> str:
        return text(child(self.node, "name"))

    def keyword(self, name: str) -> Located:
        """The keyword's value, of the task or of the innermost block that has it; the play's comes last."""
        for node in (self.node, *reversed(self.around)):
            if name in entries(node):
                return child(node, name)
        return Located(None, self.node.line)

    def is_set(self, name: str) -> bool:
        """Whether a keyword is true, or decided at run time."""
        value = self.keyword(name).value
        return value is True or (isinstance(value, str) and "{" in value)


@dataclass(frozen=True, slots=True)
class Call:
    """What a task calls: `name` is the module's as it is written, `short` without Ansible's own collection."""

    task: Task
    name: str
    arguments: Located
    field: str

    @property
    def short(self) -> str:
        return short_name(self.name)

    @property
    def last(self) -> str:
        """The module's name without any collection."""
        return self.name.rpartition(".")[2]

    def argument(self, *names: str) -> Located:
        """The first argument of these names, also one below `args` or written `name=value`; else a null."""
        for source in (self.arguments, child(self.task.node, "args")):
            for name in names:
                if name in entries(source):
                    return child(source, name)
        words = text(self.arguments).split()
        given = [word.partition("=")[2] for word in words if word.partition("=")[0] in names]
        return Located(given[0] if given else None, self.arguments.line)


def short_name(module: str) -> str:
    for prefix in BUILTIN:
        module = module.removeprefix(prefix)
    return module


def of_tasks(node: Located, path: str = "", around: tuple[Located, ...] = ()) -> Iterator[Task]:
    """Every task and block of a list, with those inside the blocks."""
    for index, item in enumerate(members(node)):
        task = Task(item, f"{path}[{index}]", around)
        if not entries(item):
            continue
        yield task
        for name in BLOCK_LISTS if task.is_block else ():
            yield from of_tasks(child(item, name), f"{task.field}.{name}", (*around, item))


def of_plays(node: Located) -> Iterator[Task]:
    """Every task of a playbook."""
    for index, play in enumerate(members(node)):
        for name in PLAY_LISTS:
            yield from of_tasks(child(play, name), f"[{index}].{name}", (play,))


def call_of(task: Task, candidates: Sequence[str]) -> Call | None:
    """The module that a task calls: by `action`, or the first candidate. None for a block, and for no module."""
    if task.is_block:
        return None
    for name in ACTIONS:
        if name in entries(task.node):
            return _of_action(task, name, child(task.node, name))
    for name in candidates[:1]:
        return Call(task, name, child(task.node, name), f"{task.field}.{name}")
    return None


def _of_action(task: Task, name: str, value: Located) -> Call | None:
    module, _, rest = text(value).strip().partition(" ")
    if entries(value):
        module, rest = text(child(value, "module")).strip(), ""
    given = {key: item for key, item in entries(value).items() if key != "module"}
    arguments = Located(given or rest or None, value.line)
    return Call(task, module, arguments, f"{task.field}.{name}") if module else None


def strangers(task: Task, keywords: frozenset[str]) -> list[str]:
    """The keys of a task that are no keywords, likeliest module first: full names, and what has arguments."""
    known = {*keywords, *ACTIONS}
    keys = [key for key in entries(task.node) if key not in known and not key.startswith("with_")]
    return sorted(keys, key=lambda key: "." not in key)
