"""What `validate` has to say: one mistake, where it is, and how bad it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from runner.errors import Problem


class Severity(StrEnum):
    """An error will fail at run time; a warning may be meant."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One mistake. `line` counts from 1; `field` is a path such as `[2].finalizer.name`, or empty."""

    file: str
    line: int
    field: str
    message: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        return f"{self.severity}: {Problem(self.file, self.line, self.field, self.message)}"


def warning(file: str, line: int, field: str, message: str) -> Finding:
    return Finding(file, line, field, message, Severity.WARNING)


def of_problem(problem: Problem, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(problem.file, problem.line, problem.field, problem.message, severity)
