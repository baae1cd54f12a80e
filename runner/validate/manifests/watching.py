"""What is refused or doubtful in a watch by itself. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.config.watchesfile import Reading
from runner.validate.findings import Finding, of_problem
from runner.validate.manifests.crds import Watched

TRUSTING = (
    "whoever may write such a resource can run commands as the operator: Jinja in it is evaluated, and a key such"
    " as ansibleConnection says how tasks are run. Set `markUnsafe: true`, unless all of them may do that"
)
LONGEST_NAME = 63
LONGEST_DOMAIN = 253
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def check(reading: Reading, watched: list[Watched]) -> Iterator[Finding]:
    """The mistakes of a watches file; `watched` are its watches that are sound."""
    yield from map(of_problem, (*reading.fatal, *reading.harmless))
    for item in watched:
        if not item.watch.mark_unsafe:
            yield Finding("watch-mark-unsafe", item.file, item.line, "markUnsafe", TRUSTING)
        if item.watch.finalizer and item.watch.finalizer.name:
            yield from _finalizer(item, item.watch.finalizer.name)


def _finalizer(item: Watched, name: str) -> Iterator[Finding]:
    place = (item.file, item.line_of("finalizer", "name"), "finalizer.name")
    example = f"{item.watch.gvk.group or 'example.com'}/finalizer"
    if refused := refusal(name):
        message = f'"{name}" {refused}: choose one such as {example}'
        yield Finding("finalizer-name", *place, message)
    elif "/" not in name:
        message = (
            f'"{name}" has no domain, so that another operator may use it as well: choose one such as {example}'
        )
        yield Finding("finalizer-without-domain", *place, message)


def refusal(name: str) -> str:
    """Why the API server refuses the name of a finalizer, or ""."""
    domain, slash, last = name.rpartition("/")
    if slash and not (_DOMAIN.fullmatch(domain) and len(domain) <= LONGEST_DOMAIN):
        return "must begin with a domain in lower case, and have one slash"
    if not last or len(last) > LONGEST_NAME:
        return f"must have 1 to {LONGEST_NAME} characters after its slash"
    if not _NAME.fullmatch(last):
        return "may have letters, digits, -, _ and . alone, and must begin and end with a letter or digit"
    return ""
