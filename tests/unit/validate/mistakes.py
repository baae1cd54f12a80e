"""How a mistake is put down: what is changed in the good project, and the one finding that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runner.validate.rules import RULES
from tests.unit.validate.conftest import Sound


@dataclass(frozen=True)
class Mistake:
    """`change` has, for a file, a text and what takes its place; `write` has whole files.

    `place` is FILE:LINE; `says` is the beginning of the message, its field included.
    """

    name: str
    rule: str
    place: str
    says: str
    change: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    write: Mapping[str, str] = field(default_factory=dict)

    def make(self, project: Sound) -> None:
        for name, (old, new) in self.change.items():
            project.replace(name, old, new)
        project.write(dict(self.write))

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def check(good: Sound, mistake: Mistake) -> None:
    """The mistake is the one finding of the good project."""
    mistake.make(good)
    (finding,) = good.validate()
    severity, _, rest = finding.partition(": ")
    assert severity == RULES[mistake.rule].severity
    assert rest[: len(f"{mistake.place}: {mistake.says}")] == f"{mistake.place}: {mistake.says}"
    assert finding.endswith(f" [{mistake.rule}]")
