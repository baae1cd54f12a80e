"""Prints docs/reference.md from the code, so that it cannot say anything else."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from runner import cli
from runner.config.flags import RUN_FLAGS, Flag, boolean
from runner.config.golang import parse_duration
from runner.config.settings import VARIABLES
from runner.config.watches import WATCH_FIELDS
from runner.control.annotations import ARTIFACTS, PERIOD, VERBOSITY
from runner.control.pause import MODE, PAUSED, PLACES, RECONCILE

ANNOTATIONS = {
    PERIOD: "period of this object, not below `--min-reconcile-period`; `0s`: never",
    ARTIFACTS: "runs of this object whose artifacts are kept; `--max-runner-artifacts-limit` at most, as for 0",
    VERBOSITY: "verbosity of ansible-playbook for this object, 0 to 7",
    RECONCILE: "any new value: one run now, whatever `watchAnnotationsChanges` says",
    PAUSED: "`true` or a moment (RFC 3339): no run until it is removed, `false`, or the moment has come",
    MODE: "`check`: no run of this object changes anything ([detect drift](how-to/detect-drift.md))",
    PLACES: "written by the operator: where its dependents are, for [prune](how-to/prune.md)",
}
_OURS = {RECONCILE, PAUSED, MODE, PLACES}
_MACHINE = {"max-concurrent-reconciles": "the processors it may use"}


def page() -> str:
    """The whole page."""
    lines = [
        "# Reference",
        "",
        "Made from the code by `make reference`. What is marked `+` the Go operator does not have.",
    ]
    for title, head, rows in _sections():
        lines += ["", f"## {title}", "", *table(head, rows)]
    return "\n".join([*lines, ""])


def _sections() -> Iterator[tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]]:
    """A title, the heads of columns, and rows."""
    flag, command = ("flag", "meaning"), ("command", "flag", "meaning")
    full = ("type", "default", "meaning")
    yield "Flags of `ansible-operator run`", ("flag", *full), [_flag(known) for known in RUN_FLAGS]
    yield "`ansible-operator run-once KIND NAME` +", flag, _options(_command("run-once"))
    yield "`ansible-operator runs [KIND [NAME]]`, `runs show ID` +", flag, _options(_command("runs"))
    yield "`ansible-operator dev` +", command, _dev()
    yield "`ansible-operator generate WHAT [DIRECTORY]` +", command, _generate()
    yield "`ansible-operator scorecard [BUNDLE]` +", flag, _options(_command("scorecard"))
    fields = [(_name(known.name, known.ours), known.type, known.default, known.meaning) for known in WATCH_FIELDS]
    yield "Fields of watches.yaml", ("field", *full), fields
    variables = [(f"`{name}`", effect) for name, effect in VARIABLES.items()]
    yield "Environment variables", ("variable", "effect"), variables
    annotations = [(_name(name, name in _OURS), effect) for name, effect in ANNOTATIONS.items()]
    yield "Annotations of a custom resource", ("annotation", "effect"), annotations


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A Markdown table, a line each."""
    return [f"| {' | '.join(cells)} |" for cells in (head, tuple("---" for _ in head), *rows)]


def _command(*words: str) -> argparse.ArgumentParser:
    """The parser of a command of `ansible-operator`, or of a command of that."""
    parser, _ = cli.parser_for(words[0])
    for word in words:
        parser = _subcommands(parser)[word][1]
    return parser


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """What each does, and its parser."""
    (found,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
    helps = {choice.dest: choice.help or "" for choice in found._choices_actions}  # noqa: SLF001
    return {name: (helps[name], inner) for name, inner in found.choices.items()}


def _options(parser: argparse.ArgumentParser, without: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    actions = (action for action in parser._actions if action.dest not in ("help", *without))  # noqa: SLF001
    return [(_option(action), (action.help or "") % vars(action)) for action in actions]


def _option(action: argparse.Action) -> str:
    name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    return f"`{name}`"


def _dev() -> list[tuple[str, ...]]:
    """The flags that say which control plane are the same for all, and shown of the first."""
    commands = _subcommands(_command("dev"))
    return [
        row
        for name, (text, parser) in commands.items()
        for row in [
            (f"`dev {name}`", "", text),
            *(("", *option) for option in _options(parser, () if name == "up" else ("name", "dir"))),
        ]
    ]


def _generate() -> list[tuple[str, ...]]:
    """The directory and `--check` are the same for all, and shown of the first."""
    commands = _subcommands(_command("generate"))
    first = next(iter(commands))
    return [
        row
        for name, (text, parser) in commands.items()
        for row in [
            (f"`generate {name}`", "", text),
            *(("", *option) for option in _options(parser, () if name == first else ("directory", "check"))),
        ]
    ]


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
