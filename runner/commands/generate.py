"""`generate WHAT`: files of a project, made of what it says elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.generate import files, schema
from runner.validate.documents import project_directory


@dataclass(frozen=True, slots=True)
class What:
    """One thing to generate: what `--help` says of it, and what gives the project's files."""

    text: str
    make: Callable[[Path], files.Files]


WHATS = {
    "schema": What(
        "the JSON schema of watches.yaml, by which editors complete and check it",
        lambda _: {Path(schema.FILE): schema.text()},
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    whats = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    for name, what in WHATS.items():
        added = whats.add_parser(name, help=what.text, description=what.text, allow_abbrev=False)
        added.add_argument(
            "directory", nargs="?", default=".", metavar="DIRECTORY", help="the project (default: here)"
        )
        added.add_argument(
            "--check", action="store_true", help="write nothing; exit 1 with a diff if a file differs"
        )


def main(parsed: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Write the files and say which, or compare them. Raises SettingsError."""
    project = project_directory(parsed.directory)
    made = WHATS[parsed.what].make(project)
    return files.check(project, made) if parsed.check else files.write(project, made)
