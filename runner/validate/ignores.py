"""Comments that silence findings: `# validate: ignore[rule, …]` on a line, on the line above, or atop a file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runner.validate.findings import Finding
from runner.validate.rules import RULES

_COMMENT = re.compile(r"(?:^|[\s{])#\s*validate:\s*ignore\[(?P<rules>[^\]]*)\]")
_HEAD = re.compile(r"\s*(#.*|---\s*|\{#.*#\}\s*)?")
"""A line that is no content: what stands before the first one that is, holds for the whole file."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """One rule that a comment of a file silences in `lines`, or in every line where that is None."""

    rule: str
    file: str
    line: int
    lines: frozenset[int] | None

    def silences(self, finding: Finding) -> bool:
        here = self.lines is None or finding.line in self.lines
        return here and (finding.rule, finding.file) == (self.rule, self.file)


def apply(findings: list[Finding], texts: Mapping[str, str]) -> list[Finding]:
    """The findings that no comment silences, and those about the comments; `texts` has the files by name."""
    ignores = [ignore for file, text in texts.items() for ignore in in_text(text, file)]
    kept = [finding for finding in findings if not any(ignore.silences(finding) for ignore in ignores)]
    return [*kept, *(mistake for ignore in ignores for mistake in _mistakes(ignore, findings))]


def in_text(text: str, file: str) -> Iterator[Ignore]:
    """What the comments of a file silence: for one alone on its line, what follows the comments below it, too."""
    if "validate:" not in text:
        return
    lines = text.splitlines()
    in_head = True
    for number, line in enumerate(lines, 1):
        blank = _HEAD.fullmatch(line) is not None
        in_head = in_head and blank
        found = _COMMENT.search(line)
        if found:
            where = None if in_head else frozenset(range(number, _content(lines, number) if blank else number + 1))
            for rule in found["rules"].split(","):
                yield Ignore(rule.strip(), file, number, where)


def _content(lines: list[str], number: int) -> int:
    """One past the first line after line `number` that is no comment."""
    following = number + 1
    while following <= len(lines) and lines[following - 1].lstrip().startswith(("#", "{#")):
        following += 1
    return following + 1


def _mistakes(ignore: Ignore, findings: list[Finding]) -> Iterator[Finding]:
    if ignore.rule not in RULES:
        close = difflib.get_close_matches(ignore.rule, RULES, 1)
        hint = f"did you mean {close[0]}?" if close else "docs/validate.md lists them"
        message = f'there is no rule "{ignore.rule}"; {hint}'
        yield Finding("ignore-unknown", ignore.file, ignore.line, "", message)
    elif not any(ignore.silences(finding) for finding in findings):
        message = f"nothing here breaks {ignore.rule}: remove it from the comment"
        yield Finding("ignore-unused", ignore.file, ignore.line, "", message)
