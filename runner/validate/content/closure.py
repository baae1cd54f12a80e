"""Everything that one watch's role or playbook leads to, and what is known of it as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runner.config.yamlfile import Located
from runner.validate.content import tasks
from runner.validate.content.installed import Installed, Module
from runner.validate.content.tasks import Call, Task
from runner.validate.documents import Document, child, entries, members, read, text, yaml_files


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the content. `kind` is plays, tasks, handlers, defaults, vars or meta.

    `role` is the role's directory if it is of one, `beside` the playbook's if a playbook led to it; `collections`
    are those that the role searches for short names.
    """

    kind: str
    path: Path
    document: Document
    role: Path | None
    beside: Path | None
    own_modules: frozenset[str] = frozenset()
    collections: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        return self.document.file

    def tasks(self) -> Iterator[Task]:
        if self.kind == "plays":
            yield from tasks.of_plays(self.document.node)
        elif self.kind in ("tasks", "handlers"):
            yield from tasks.of_tasks(self.document.node)


@dataclass(frozen=True, slots=True)
class Step:
    """A task or block of a source; `call` is None for a block and for a task without a module.

    `strangers` are the task's keys that are no keywords, each with the module of that name if there is one.
    """

    source: Source
    task: Task
    call: Call | None
    module: Module | None
    strangers: Mapping[str, Module | None]


@dataclass(slots=True)
class Closure:
    """What one content leads to. `elsewhere` are the roles outside of the project: they are used, not checked.

    `hidden` says that some role is not here, or decided at run time: what it defines cannot be known.
    """

    sources: list[Source] = field(default_factory=list)
    elsewhere: set[Path] = field(default_factory=set)
    hidden: bool = False
    steps: list[Step] = field(default_factory=list)

    @property
    def roles(self) -> list[Path]:
        return list(dict.fromkeys(source.role for source in self.sources if source.role))

    @property
    def playbook_directories(self) -> list[Path]:
        return list(dict.fromkeys(source.beside for source in self.sources if source.beside))

    def calls(self) -> list[Call]:
        return [step.call for step in self.steps if step.call]

    def understand(self, installed: Installed) -> None:
        """Fill in the steps: which module each task calls."""
        self.steps = [_step(source, task, installed) for source in self.sources for task in source.tasks()]

    def with_elsewhere(self, installed: Installed) -> Closure:
        """This and what the roles outside of the project are made of, as far as their files tell."""
        if not self.elsewhere:
            return self
        more = Closure([*self.sources, *(source for role in self.elsewhere for source in _of_role(role))])
        more.hidden = self.hidden
        more.understand(installed)
        return more


def _of_role(role: Path) -> Iterator[Source]:
    collections = collections_of(role)
    for kind in ("tasks", "handlers", "defaults", "vars", "meta"):
        for path in yaml_files(role / kind):
            documents, _ = read(path)
            yield from (
                Source(kind, path, document, role, None, collections=collections) for document in documents[:1]
            )


def _step(source: Source, task: Task, installed: Installed) -> Step:
    keywords = keywords_of(source, task, installed)
    collections = _searched(source, task)
    found = {
        name: None if task.is_block else installed.module(name, source.own_modules, collections)
        for name in tasks.strangers(task, keywords)
    }
    call = tasks.call_of(task, [name for name, module in found.items() if module] or list(found))
    if call is None:
        return Step(source, task, None, None, found)
    module = found.get(call.name) or installed.module(call.name, source.own_modules, collections)
    return Step(source, task, call, module, found)


def keywords_of(source: Source, task: Task, installed: Installed) -> frozenset[str]:
    if task.is_block:
        return installed.keywords("block")
    in_handlers = source.kind == "handlers" or ".handlers[" in task.field
    return installed.keywords("handler" if in_handlers else "task")


def _searched(source: Source, task: Task) -> tuple[str, ...]:
    """The collections in which short names are looked up."""
    named = [*source.collections, *(text(item) for item in members(task.keyword("collections")))]
    return tuple(name for name in named if name and "{" not in name)


def collections_of(role: Path) -> tuple[str, ...]:
    """The collections that a role searches: the one that it is of, and those that its meta/main.yml names."""
    parts = role.parts
    of_collection = len(parts) > 4 and parts[-2] == "roles" and parts[-5] == "ansible_collections"
    own = (f"{parts[-4]}.{parts[-3]}",) if of_collection else ()
    paths = [path for path in (role / "meta/main.yml", role / "meta/main.yaml") if path.is_file()]
    documents = [document for path in paths for document in read(path)[0][:1]]
    return (*own, *(text(item) for document in documents for item in members(document.get("collections"))))


def vars_of(node: Located) -> dict[str, Located]:
    """The variables of a task, block, play, or use of a role."""
    found = child(node, "vars")
    return entries(found) | {name: value for item in members(found) for name, value in entries(item).items()}
