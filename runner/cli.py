"""The command line: parse, call, exit code."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import NoReturn

from runner.config.flags import add_flags, spell_out_booleans
from runner.config.read import read_settings
from runner.config.watchesfile import load_watches
from runner.errors import OperatorError, UsageError
from runner.logs import configure_logs
from runner.version import VERSION


class _Parser(argparse.ArgumentParser):
    """Ends with `Error: …` and exit code 1, as the Go operator's command line does."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"Error: {message}\n{self.format_usage()}")
        sys.exit(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """The `ansible-operator` command; returns its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser(words)
    parsed = parser.parse_args(spell_out_booleans(words))
    try:
        match parsed.command:
            case "run":
                return _run(parsed)
            case "version":
                return _version()
            case "dev":
                return _dev(parsed)
            case _:
                parser.print_help()
                return 0
    except OperatorError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="ansible-operator", description="Runs Ansible roles and playbooks as a Kubernetes operator."
    )
    commands: argparse._SubParsersAction[argparse.ArgumentParser]
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    run = commands.add_parser("run", help="run the operator", allow_abbrev=False)
    add_flags(run)
    run.add_argument("ignored", nargs="*", help=argparse.SUPPRESS)
    run.set_defaults(complain=run.error)
    commands.add_parser("version", help="print the version")
    commands.add_parser("help", help="print this help")
    if words[:1] == ["dev"]:
        from runner.dev.cli import add_parser  # noqa: PLC0415  (run must not pay for importing it)

        add_parser(commands)
    else:
        commands.add_parser("dev", help="a local Kubernetes control plane, without containers")
    return parser


def _run(parsed: argparse.Namespace) -> int:
    from runner.manager import run_operator  # noqa: PLC0415  (help and version must not pay for importing it)

    try:
        settings = read_settings(parsed, os.environ, terminal=sys.stderr.isatty())
    except UsageError as error:
        parsed.complain(str(error))
    configure_logs(
        settings.log_level,
        settings.log_encoder,
        stacktrace_level=settings.log_stacktrace_level,
        time_encoding=settings.log_time_encoding,
    )
    watches, notes = load_watches(settings.watches_file, Path.cwd(), settings.environment)
    for note in notes:
        sys.stderr.write(f"Warning: {note}\n")
    return asyncio.run(run_operator(settings, {watch.gvk: watch for watch in watches}))


def _dev(parsed: argparse.Namespace) -> int:
    from runner.dev.cli import main as dev_main  # noqa: PLC0415  (only role authors pay for importing it)

    return dev_main(parsed)


def _version() -> int:
    facts = {
        "ansible-core": metadata.version("ansible-core"),
        "ansible-runner": metadata.version("ansible-runner"),
        "python": platform.python_version(),
    }
    listed = ", ".join(f'{name}: "{value}"' for name, value in facts.items())
    sys.stdout.write(f'ansible-operator version: "v{VERSION}", {listed}\n')
    return 0
