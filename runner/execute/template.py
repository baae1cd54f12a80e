"""The line of a template that an error concerns: ansible-core 2.19 and later name its file alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from runner.execute.failure import Failure

_LONGEST = 1024 * 1024
"""Characters of a template that is looked through."""
_NAME = re.compile(r"'([\w.]+)' is undefined|has no attribute '(\w+)'|No (?:filter|test) named '([\w.]+)'")
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


def with_lines(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """The failures, with the line wherever it can be found in a template's file, which is read for it."""
    return tuple(_with_line(failure) if failure.template else failure for failure in failures)


def line_of(source: str, cause: str) -> int | None:
    """Where the template first uses the name that the cause is about, or else is no template of Jinja."""
    if named := _NAME.search(cause):
        name = re.compile(rf"\b{re.escape(next(filter(None, named.groups())))}\b")
        found = (tag.start() + used.start() for tag in _TAG.finditer(source) if (used := name.search(tag[0])))
        begin = next(found, None)
        return None if begin is None else source.count("\n", 0, begin) + 1
    return _unparsable(source)


def _unparsable(source: str) -> int | None:
    from jinja2 import Environment, TemplateSyntaxError  # noqa: PLC0415  (large, and seldom needed)

    try:
        Environment(extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"]).parse(source)  # noqa: S701  (no HTML)
    except TemplateSyntaxError as error:
        return error.lineno
    except RecursionError:
        return None
    return None


def _with_line(failure: Failure) -> Failure:
    file = Path(failure.template)
    try:
        if not file.is_file():
            return failure
        with file.open(encoding="utf-8", errors="replace") as opened:
            line = line_of(opened.read(_LONGEST), failure.cause)
    except OSError:  # the message is whole without it
        return failure
    name = f" in templates/{failure.template.rpartition('/templates/')[2]}"
    return replace(failure, cause=failure.cause.replace(name, f"{name}:{line}", 1)) if line else failure
