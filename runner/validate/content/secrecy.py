"""Secrets that a task would show: what it prints, runs or writes with them, without `no_log`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from runner.validate.content.closure import Step
from runner.validate.content.expressions import Text
from runner.validate.content.jinja import has_jinja
from runner.validate.documents import child, entries, text
from runner.validate.findings import Finding

_SECRET = re.compile(
    r"(?:.*_)?(?:passwords?|passwd|passphrase|token|api_?key|private_key|secret_key|access_key|client_secret)"
)
"""Names of what is secret itself; `…_secret` names an object of Kubernetes more often than not."""
_ABOUT = re.compile(r"msg|message|error|prompt|regex|pattern|length|policy")
"""In names of texts about secrets."""
_PRINTING = ("debug", "fail", "assert")
_RUNNING = ("command", "shell", "raw", "script")
_WRITING = ("kubernetes.core.k8s",)
_DEFINITIONS = ("definition", "resource_definition", "inline")


def check(steps: Iterable[Step], texts: Iterable[Text]) -> Iterator[Finding]:
    """Tasks that show a secret; `texts` are those of the same closure."""
    by_file: dict[str, list[Text]] = {}
    for item in texts:
        by_file.setdefault(item.file, []).append(item)
    for step in steps:
        call = step.call
        if call is None or step.task.is_set("no_log"):
            continue
        secrets = _secrets(by_file.get(step.source.file, []), call.field)
        if call.short in _PRINTING and secrets:
            yield _finding(step, f"prints {secrets[0]}: remove it, or set `no_log: true`")
        elif call.short in _RUNNING and secrets:
            how = "pass it in `environment` or `stdin`, and set `no_log: true`"
            yield _finding(step, f"shows {secrets[0]} in its command line: {how}")
        elif call.name in _WRITING and _is_secret_written(step):
            yield _finding(step, "writes a Secret, which the run's output and artifacts show: set `no_log: true`")


def _secrets(texts: Iterable[Text], field: str) -> list[str]:
    """The secrets that the arguments of a module hold."""
    here = [item for item in texts if item.field == field or item.field.startswith((f"{field}.", f"{field}["))]
    names = {variable.name for item in here for variable in item.jinja.variables}
    names |= {str(path[-1]) for item in here for path, _ in item.jinja.paths}
    checked = {name for item in here for name in item.jinja.guarded if item.field.endswith(".that")}
    secret = {name for name in names - checked if _SECRET.fullmatch(name.lower())}
    return sorted(name for name in secret if not _ABOUT.search(name))


def _is_secret_written(step: Step) -> bool:
    if step.call is None:
        return False
    definition = step.call.argument(*_DEFINITIONS)
    if text(child(definition, "kind")) == "Secret":
        values = (
            *entries(child(definition, "stringData")).values(),
            *entries(child(definition, "data")).values(),
        )
        return any(has_jinja(text(value)) for value in values)
    lines = text(definition)
    return bool(re.search(r"^kind:\s*Secret\s*$", lines, re.MULTILINE)) and has_jinja(lines) and "ata:" in lines


def _finding(step: Step, message: str) -> Finding:
    field = step.call.field if step.call else step.task.field
    return Finding("no-log-missing", step.source.file, step.task.node.line, field, f"this task {message}")
