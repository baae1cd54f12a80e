"""`generate WHAT`: files of a project, made of what it says elsewhere."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.generate import crds, files, schema
from runner.validate.documents import project_directory

Make = Callable[[Path, argparse.Namespace, Mapping[str, str]], files.Files]
Tell = Callable[[Path, Mapping[str, str]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class What:
    """One thing to generate: what `--help` says of it, and what gives the project's files.

    `remarks` is what is worth knowing of them; `differs` says what is wrong with files that are not written.
    """

    text: str
    make: Make
    remarks: Tell = lambda *_: ()
    differs: Tell = lambda *_: ()


WHATS = {
    "schema": What(
        "the JSON schema of watches.yaml, by which editors complete and check it",
        lambda *_: {Path(schema.FILE): schema.text()},
    ),
    "crds": What(
        "the CRDs of its kinds, of what their roles say of their variables",
        lambda project, _, environment: crds.files(project, environment),
        crds.remarks,
        crds.differences,
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


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Write the files and say which, or compare them. Raises SettingsError, WatchesError."""
    project = project_directory(parsed.directory)
    what = WHATS[parsed.what]
    made = what.make(project, parsed, environment)
    code = files.check(project, made) if parsed.check else files.write(project, made)
    sys.stderr.writelines(f"note: {line}\n" for line in what.remarks(project, environment))
    wrong = what.differs(project, environment)
    sys.stdout.writelines(f"{line}\n" for line in wrong)
    return 1 if wrong and parsed.check else code
