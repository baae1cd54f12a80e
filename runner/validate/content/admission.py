"""Tasks of admission that would change the cluster: reviews may read it, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runner.config.watches import Watch
from runner.validate.content import tasks, uses
from runner.validate.content.tasks import Task
from runner.validate.content.uses import What
from runner.validate.documents import Document, read
from runner.validate.findings import Finding
from runner.validate.manifests.touches import READ, Touch, of_tasks

_SAYS = "the tasks of admission may read the cluster, and change nothing: the API proxy refuses to {verbs} {kind}"


def check(watch: Watch) -> Iterator[Finding]:
    """In the files that the watch's `admission` names, and in those that they include or import."""
    asked, place = watch.admission, watch.content.path / "tasks"
    names = (asked.tasks, asked.default) if asked else ()
    waiting, seen = [place / name for name in names if name], set[Path]()
    while waiting:
        file = waiting.pop()
        if file.resolve() not in seen:
            seen.add(file.resolve())
            for document in read(file)[0][:1]:
                yield from _of_document(document)
                waiting += _included(document, file.parent, place)


def _included(document: Document, *places: Path) -> Iterator[Path]:
    """The files of tasks that a document names, each where Ansible finds it: beside it, or in the role."""
    for use in uses.of_tasks(document.node):
        if use.what is What.FILE:
            yield from [place / use.name for place in places if (place / use.name).is_file()][:1]


def _of_document(document: Document) -> Iterator[Finding]:
    for task in tasks.of_tasks(document.node):
        if not task.is_block:
            yield from _of_task(document, task)


def _of_task(document: Document, task: Task) -> Iterator[Finding]:
    for touch in of_tasks(task.node.plain()):
        if isinstance(touch, Touch) and (verbs := [verb for verb in touch.verbs if verb not in READ]):
            message = _SAYS.format(verbs=" or ".join(verbs), kind=touch.kind)
            yield Finding("admission-writes", document.file, task.node.line, task.field, message)
            return
