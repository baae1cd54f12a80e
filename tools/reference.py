"""Prints docs/reference.md from the code, so that it cannot say anything else."""

from __future__ import annotations

import sys

from runner.config.flags import RUN_FLAGS, Flag, boolean
from runner.config.golang import parse_duration
from runner.config.settings import VARIABLES
from runner.config.watches import WATCH_FIELDS
from runner.control.pause import PAUSED, RECONCILE
from runner.control.plan import ARTIFACTS, PERIOD, VERBOSITY

ANNOTATIONS = {
    PERIOD: "period of this object, not below `--min-reconcile-period`; `0s`: never",
    ARTIFACTS: "runs of this object whose artifacts are kept; `--max-runner-artifacts-limit` at most, as for 0",
    VERBOSITY: "verbosity of ansible-playbook for this object, 0 to 7",
    RECONCILE: "any new value: one run now, whatever `watchAnnotationsChanges` says",
    PAUSED: "`true` or a moment (RFC 3339): no run until it is removed, `false`, or the moment has come",
}
_OURS = {RECONCILE, PAUSED}
_MACHINE = {"max-concurrent-reconciles": "the processors it may use"}


def page() -> str:
    """The whole page."""
    return "\n".join(
        [
            "# Reference",
            "",
            "Made from the code by `make reference`. What is marked `+` the Go operator does not have.",
            "",
            "## Flags of `ansible-operator run`",
            "",
            *table(("flag", "type", "default", "meaning"), [_flag(flag) for flag in RUN_FLAGS]),
            "",
            "## Fields of watches.yaml",
            "",
            *table(
                ("field", "type", "default", "meaning"),
                [
                    (_name(field.name, field.ours), field.type, field.default, field.meaning)
                    for field in WATCH_FIELDS
                ],
            ),
            "",
            "## Environment variables",
            "",
            *table(("variable", "effect"), [(f"`{name}`", effect) for name, effect in VARIABLES.items()]),
            "",
            "## Annotations of a custom resource",
            "",
            *table(
                ("annotation", "effect"),
                [(_name(name, name in _OURS), effect) for name, effect in ANNOTATIONS.items()],
            ),
            "",
        ]
    )


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """A Markdown table, a line each."""
    return [f"| {' | '.join(cells)} |" for cells in (head, tuple("---" for _ in head), *rows)]


def _name(name: str, ours: bool) -> str:
    return f"`{name}`" + (" +" if ours else "")


def _flag(flag: Flag) -> tuple[str, str, str, str]:
    meaning = f"deprecated: use `{flag.alias_of}`" if flag.alias_of else flag.help
    default = "" if flag.alias_of else _MACHINE.get(flag.name) or _shown(flag.default)
    return _name(flag.name, flag.ours), _type(flag), default, meaning


def _type(flag: Flag) -> str:
    if flag.reader is boolean:
        return "boolean"
    if flag.reader is parse_duration:
        return "duration"
    return "integer" if flag.reader is int else "string"


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, float):
        return f"{default:g}s"
    return f"`{default}`" if default != "" else ""


if __name__ == "__main__":
    sys.stdout.write(page())
