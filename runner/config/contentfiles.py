"""Which kinds a file of a project concerns: whose runs may go otherwise because it was changed. Pure.

Where only a run could tell, a kind too many is named rather than one too few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from runner.config.watches import Content, Watch
from runner.objects import GroupVersionKind

SHARED = (
    *("group_vars", "host_vars", "vars", "inventory", "library", "module_utils", "plugins", "collections"),
    *("action_plugins", "filter_plugins", "lookup_plugins", "test_plugins", "templates", "files", "tasks"),
)
"""Directories of a project that any role or playbook of it may use."""
SHARED_FILES = ("ansible.cfg",)

Watches = Mapping[GroupVersionKind, Watch]
Uses = Mapping[Path, frozenset[Path]]
"""Of each content, by its path: the roles of other watches that it names."""


def contents(watch: Watch) -> Iterator[Content]:
    """What may be run for the watch, its finalizer included."""
    yield watch.content
    if watch.finalizer is not None and watch.finalizer.content is not None:
        yield watch.finalizer.content


def roots(watches: Watches, project: Path) -> frozenset[Path]:
    """The files and directories that are to be looked at for changes."""
    shared = {project / name for name in (*SHARED, *SHARED_FILES)}
    return frozenset(shared | {content.path.parent for watch in watches.values() for content in contents(watch)})


def concerned(file: Path, watches: Watches, project: Path, uses: Uses) -> tuple[GroupVersionKind, ...]:
    """The kinds that a file concerns; paths are absolute, `project` is the directory of watches.yaml."""
    if _is_shared(file, project):
        return tuple(watches)
    others = [content.path for watch in watches.values() for content in contents(watch)]
    owner = next((path for path in others if file.is_relative_to(path)), None)
    return tuple(
        gvk
        for gvk, watch in watches.items()
        if any(_concerns(file, content, owner, uses) for content in contents(watch))
    )


def is_yaml(file: Path, watches: Watches, project: Path) -> bool:
    """Whether Ansible reads the file as YAML; what a role or playbook only copies or renders may be anything."""
    if file.suffix not in (".yml", ".yaml"):
        return False
    parts = file.relative_to(project).parts if file.is_relative_to(project) else file.parts[-3:]
    if any(name in parts for name in ("templates", "files", "molecule")):
        return False
    return bool(concerned(file, watches, project, {}))


def _is_shared(file: Path, project: Path) -> bool:
    if not file.is_relative_to(project):
        return False
    first = file.relative_to(project).parts[:1]
    return first[0] in SHARED or file in [project / name for name in SHARED_FILES] if first else False


def _concerns(file: Path, content: Content, owner: Path | None, uses: Uses) -> bool:
    """`owner` is the content of a watch that the file is part of, if there is one."""
    if owner is None:
        return file.is_relative_to(content.path.parent)  # a role beside it, or what a playbook includes
    return owner == content.path or owner in uses.get(content.path, ())


def named_roles(text: str, roles: frozenset[Path]) -> frozenset[Path]:
    """Those of the roles whose names are words of the text."""
    words = set(text.replace('"', " ").replace("'", " ").replace(",", " ").replace("}", " ").split())
    return frozenset(role for role in roles if {role.name, f"name={role.name}"} & words)
