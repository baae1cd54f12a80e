"""Which modules, roles and files the tasks and plays of a document use. Pure.

What holds a Jinja expression is known only at run time and is no use here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from runner.config.yamlfile import Located
from runner.validate.content.tasks import BLOCK_LISTS, BUILTIN, PLAY_LISTS
from runner.validate.documents import child, entries, members, text


class What(StrEnum):
    MODULE = "module"
    ROLE = "role"
    COLLECTION = "collection"
    FILE = "file"
    FILTER = "filter"
    TEST = "test"
    LOOKUP = "lookup"


@dataclass(frozen=True, slots=True)
class Use:
    """Something used by name: where in its file, counted from 1, and by which field."""

    what: What
    name: str
    line: int
    field: str


def of_tasks(node: Located, path: str = "") -> Iterator[Use]:
    """What a list of tasks uses, its blocks included."""
    for index, task in enumerate(members(node)):
        where = f"{path}[{index}]"
        blocks = [name for name in BLOCK_LISTS if name in entries(task)]
        for name in blocks:
            yield from of_tasks(child(task, name), f"{where}.{name}")
        if not blocks:
            yield from _of_task(task, where)


def of_plays(node: Located) -> Iterator[Use]:
    """What a playbook uses."""
    for index, play in enumerate(members(node)):
        where = f"[{index}]"
        for name in ("import_playbook", "ansible.builtin.import_playbook"):
            yield from _named(What.FILE, child(play, name), f"{where}.{name}")
        yield from _listed(What.COLLECTION, child(play, "collections"), f"{where}.collections")
        yield from _listed(What.ROLE, child(play, "roles"), f"{where}.roles")
        for name in PLAY_LISTS:
            yield from of_tasks(child(play, name), f"{where}.{name}")


def of_meta(node: Located) -> Iterator[Use]:
    """What a role's meta/main.yml uses."""
    yield from _listed(What.ROLE, child(node, "dependencies"), "dependencies")
    yield from _listed(What.COLLECTION, child(node, "collections"), "collections")


def _of_task(task: Located, where: str) -> Iterator[Use]:
    for name, value in entries(task).items():
        if name in ("action", "local_action"):
            module = text(child(value, "module")) or (text(value).split() or [""])[0]
            yield from _named(What.MODULE, Located(module, task.line), f"{where}.{name}")
        else:  # keywords such as `when` are taken for modules, too, of which nobody knows a collection
            yield from _of_module(name, value, task.line, where)


def _of_module(name: str, value: Located, line: int, where: str) -> Iterator[Use]:
    short = name
    for prefix in BUILTIN:
        short = short.removeprefix(prefix)
    field = f"{where}.{name}"
    if short in ("include_role", "import_role"):
        yield from _named(What.ROLE, _argument(value, "name", "role"), f"{field}.name")
    elif short in ("include_tasks", "import_tasks"):
        yield from _named(What.FILE, _argument(value, "file", ""), field)
    elif short == name:
        yield from _named(What.MODULE, Located(name, line), field)


def _argument(value: Located, name: str, other: str) -> Located:
    """An argument as a field, as `name=value`, or (where there is no `other` name for it) as the whole text."""
    if isinstance(value.value, dict):
        found = child(value, name)
        return found if found.value is not None or not other else child(value, other)
    words = text(value).split()
    given = [word.partition("=")[2] for word in words if word.partition("=")[0] in (name, other)]
    return Located(given[0] if given else "" if other else text(value), value.line)


def _listed(what: What, node: Located, where: str) -> Iterator[Use]:
    for index, item in enumerate(members(node)):
        name = child(item, "role") if text(child(item, "role")) else child(item, "name")
        yield from _named(what, name if entries(item) else item, f"{where}[{index}]")


def _named(what: What, node: Located, field: str) -> Iterator[Use]:
    if text(node) and "{{" not in text(node):
        yield Use(what, text(node).strip(), node.line, field)
