"""Files, task files and handlers that content names and does not have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runner.config.yamlfile import Located
from runner.validate.content.closure import Closure, Source, Step
from runner.validate.content.expressions import Text, files_of
from runner.validate.content.jinja import has_jinja
from runner.validate.content.modules import meant
from runner.validate.content.places import IMAGE_HOME
from runner.validate.content.tasks import Call
from runner.validate.documents import child, entries, members, text
from runner.validate.findings import Finding

_KINDS = {
    "template": ("templates", ("src",)),
    "copy": ("files", ("src",)),
    "unarchive": ("files", ("src",)),
    "include_tasks": ("tasks", ("file", "_raw_params")),
    "import_tasks": ("tasks", ("file", "_raw_params")),
    "include_vars": ("vars", ("file", "dir", "_raw_params")),
    "script": ("files", ("cmd", "_raw_params")),
    "kubernetes.core.k8s": ("files", ("src",)),
}
"""What a module reads on the operator's side: the directory of a role it is looked for in, and the arguments."""
_FREE = ("include_tasks", "import_tasks", "include_vars", "script")
_ENDINGS = ("", ".yml", ".yaml", ".json")


class Files:
    """Finds files as Ansible does for a task: beside its file, in its role and those that use it, by the playbook.

    More places are looked at than Ansible would, never fewer.
    """

    def __init__(self, closure: Closure, project: Path) -> None:
        self._closure = closure
        self._project = project

    def missing(self, directory: str, name: str, path: Path) -> bool:
        """Whether a file that content in `path` names is nowhere; one outside of the project cannot be told."""
        if has_jinja(name) or not name or "://" in name or name.startswith("~"):
            return False
        if name.startswith("/"):
            inside = name.removeprefix(f"{IMAGE_HOME}/")
            return inside != name and not (self._project / inside).exists()
        return not any((base / name).exists() for base in self._bases(directory, path))

    def has_tasks(self, role: str, name: str) -> bool:
        """Whether a role of the closure has that file of tasks; true for a role that is not known."""
        paths = [path for path in (*self._closure.roles, *self._closure.elsewhere) if path.name == role]
        return not paths or any((path / "tasks" / f"{name}{end}").is_file() for path in paths for end in _ENDINGS)

    def _bases(self, directory: str, path: Path) -> Iterator[Path]:
        around = [path.parent, *path.parent.parents[:2]]
        for base in (*self._closure.roles, *self._closure.elsewhere, *self._closure.playbook_directories, *around):
            yield from (base / directory, base, base / "tasks", base / "handlers")


def check(closure: Closure, files: Files) -> Iterator[Finding]:
    """Files that tasks and plays name and that are missing."""
    for step in closure.steps:
        if step.call and not step.task.is_set("ignore_errors"):
            for directory, item, field in _of_call(step.call):
                if files.missing(directory, text(item), step.source.path):
                    yield _missing(step.source, item, field, directory)
            yield from _of_role(step, step.call, files)
    for source in closure.sources:
        for index, play in enumerate(members(source.document.node)) if source.kind == "plays" else ():
            yield from _of_play(source, play, f"[{index}]", files)


def check_texts(texts: list[Text], files: Files) -> Iterator[Finding]:
    """Files that lookups and templates name and that are missing."""
    for item in texts:
        for directory, name, line in files_of(item):
            if files.missing(directory, name, item.path):
                message = f"{name} was not found in {directory}/: create it, or mend the name"
                yield Finding("file-missing", item.file, line, item.field, message)


def _of_call(call: Call) -> Iterator[tuple[str, Located, str]]:
    directory, names = _KINDS.get(call.short, ("", ()))
    if not directory or call.argument("remote_src").value not in (None, False, "no", "false"):
        return
    found = call.argument(*names)
    if found.value is None and call.short in _FREE and "=" not in text(call.arguments):
        found = Located(text(call.arguments), call.arguments.line)
    if call.short == "script":
        found = Located((text(found).split() or [""])[0], found.line)
    if text(found) and call.argument("content").value is None:
        yield directory, Located(text(found).strip(), found.line), call.field
    if call.short == "kubernetes.core.k8s":
        template = call.argument("template")
        for item in members(template) or [template]:
            yield "templates", child(item, "path") if entries(item) else item, f"{call.field}.template"


def _of_role(step: Step, call: Call, files: Files) -> Iterator[Finding]:
    role, name = text(call.argument("name", "role")), call.argument("tasks_from")
    literal = text(name) and not has_jinja(role + text(name)) and call.short in ("include_role", "import_role")
    if literal and not files.has_tasks(role.rpartition(".")[2].rpartition("/")[2], text(name)):
        message = f"role {role} has no tasks/{text(name)}: create it, or mend the name"
        yield Finding("file-missing", step.source.file, name.line, f"{call.field}.tasks_from", message)


def _of_play(source: Source, play: Located, field: str, files: Files) -> Iterator[Finding]:
    for index, item in enumerate(members(child(play, "vars_files"))):
        if files.missing("vars", text(item), source.path):
            yield _missing(source, item, f"{field}.vars_files[{index}]", "vars")
    for name in ("import_playbook", "ansible.builtin.import_playbook"):
        item = child(play, name)
        of_collection = text(item).count(".") >= 2 and "/" not in text(item)
        if not of_collection and files.missing("playbooks", text(item), source.path):
            yield _missing(source, item, f"{field}.{name}", "playbooks")


def _missing(source: Source, item: Located, field: str, directory: str) -> Finding:
    message = (
        f"{text(item)} was not found, neither in {directory}/ nor beside this file: create it, or mend the name"
    )
    return Finding("file-missing", source.file, item.line, field, message)


def check_handlers(closure: Closure, whole: Closure) -> Iterator[Finding]:
    """Handlers that tasks notify and nobody has; `whole` has those of roles elsewhere, too."""
    names = set(_handlers(whole))
    if whole.hidden or any(has_jinja(name) for name in names):
        return
    for step in closure.steps:
        notify = child(step.task.node, "notify")
        for item in members(notify) or [notify]:
            name = text(item)
            if name and not has_jinja(name) and name.rpartition(" : ")[2] not in names:
                hint = meant(name, names) or ": add it to handlers/main.yml"
                message = f"there is no handler {name}{hint}"
                yield Finding("handler-missing", step.source.file, item.line, f"{step.task.field}.notify", message)


def _handlers(closure: Closure) -> Iterator[str]:
    for step in closure.steps:
        if step.source.kind == "handlers" or ".handlers[" in step.task.field:
            listen = child(step.task.node, "listen")
            yield from (name for name in (step.task.name, text(listen), *map(text, members(listen))) if name)
