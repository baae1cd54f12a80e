"""What `validate` has found: one mistake, where it is, and by which rule."""

from __future__ import annotations

from dataclasses import dataclass

from runner.errors import Problem
from runner.validate.rules import RULES, Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake against a rule of the table in rules.py; the message says what is wrong and what to do.

    `line` counts from 1; `field` is a path such as `[2].finalizer.name`, or empty.
    """

    rule: str
    file: str
    line: int
    field: str
    message: str

    @property
    def severity(self) -> Severity:
        return RULES[self.rule].severity

    @property
    def place(self) -> tuple[str, int, str, str, str]:
        """What findings are sorted by."""
        return self.file, self.line, self.field, self.message, self.rule

    def __str__(self) -> str:
        return f"{self.severity}: {Problem(self.file, self.line, self.field, self.message)} [{self.rule}]"


def of_problem(problem: Problem) -> Finding:
    return Finding(problem.rule, problem.file, problem.line, problem.field, problem.message)


def count(findings: list[Finding], severity: Severity) -> int:
    return sum(finding.severity is severity for finding in findings)
