"""`run`: the operator."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import structlog

from runner.config.flags import add_flags, deprecations
from runner.config.settings import read_settings
from runner.config.watchesfile import load_watches
from runner.errors import UsageError
from runner.logs import configure_logs, log_everything_else


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser)
    parser.add_argument("ignored", nargs="*", help=argparse.SUPPRESS)  # as the Go operator does


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Run until it is stopped; the exit code. Raises OperatorError."""
    try:
        settings = read_settings(parsed, environment, terminal=sys.stderr.isatty())
    except UsageError as error:
        parsed.complain(str(error))
    configure_logs(
        settings.log_level,
        settings.log_encoder,
        stacktrace_level=settings.log_stacktrace_level,
        time_encoding=settings.log_time_encoding,
        colors=settings.log_colors,
    )
    if parsed.own_process and settings.log_encoder == "json":
        log_everything_else()
    log = structlog.get_logger(__name__)
    for notice in deprecations(parsed):
        log.warning(notice)
    watches, notes = load_watches(settings.watches_file, Path.cwd(), settings.environment)
    for note in notes:
        log.warning(str(note), file=note.file, line=note.line, field=note.field, said=str(note))
    by_kind = {watch.gvk: watch for watch in watches}
    if settings.watch:
        from runner.commands.reloading import run_reloading  # noqa: PLC0415  (only development pays for it)

        return asyncio.run(run_reloading(settings, by_kind))
    from runner.manager import run_operator  # noqa: PLC0415  (help must not pay for importing it)

    return asyncio.run(run_operator(settings, by_kind))
