"""Tasks of admission that would change the cluster: reviews may read it, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runner.config.watches import Watch
from runner.validate.content import tasks
from runner.validate.content.tasks import Task
from runner.validate.documents import Document, read
from runner.validate.findings import Finding
from runner.validate.manifests.touches import READ, Touch, of_tasks

_SAYS = "the tasks of admission may read the cluster, and change nothing: the API proxy refuses to {verbs} {kind}"


def check(watch: Watch) -> Iterator[Finding]:
    """In the files that the watch's `admission` names; what they include is left aside."""
    for file in _files(watch):
        documents, _ = read(file)
        for document in documents[:1]:
            for task in tasks.of_tasks(document.node):
                if not task.is_block:
                    yield from _of_task(document, task)


def _files(watch: Watch) -> list[Path]:
    asked = watch.admission
    names = (asked.tasks, asked.default) if asked else ()
    return [watch.content.path / "tasks" / name for name in dict.fromkeys(names) if name]


def _of_task(document: Document, task: Task) -> Iterator[Finding]:
    for touch in of_tasks(task.node.plain()):
        if isinstance(touch, Touch) and (verbs := [verb for verb in touch.verbs if verb not in READ]):
            message = _SAYS.format(verbs=" or ".join(verbs), kind=touch.kind)
            yield Finding("admission-writes", document.file, task.node.line, task.field, message)
            return
