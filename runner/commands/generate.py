"""`generate WHAT`: files of a project, made of what it says elsewhere."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.generate import bundle, crds, docs, files, manifests, rbac, schema
from runner.validate.clusterrole import NAME as MANAGER_ROLE
from runner.validate.documents import project_directory

Make = Callable[[Path, argparse.Namespace, Mapping[str, str]], files.Files]
Tell = Callable[[Path, Mapping[str, str]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class What:
    """One thing to generate: what `--help` says of it, what gives the project's files, and its own flags.

    A flag has what its value is called, "" for one without a value, and what `--help` says of it. `remarks` is
    what is worth knowing of the files; `differs` says what is wrong with files that are not written.
    """

    text: str
    make: Make
    flags: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    remarks: Tell = lambda *_: ()
    differs: Tell = lambda *_: ()


WHATS = {
    "schema": What(
        "the JSON schema of watches.yaml, by which editors complete and check it",
        lambda *_: {Path(schema.FILE): schema.text()},
    ),
    "manifests": What(
        "what of config/ follows from the project: rights, webhooks, and lists of its files",
        lambda project, _, environment: manifests.files(project, environment),
        remarks=manifests.remarks,
    ),
    "rbac": What(
        "the roles of the operator, in config/rbac or, for some namespaces, in config/namespaced",
        lambda project, parsed, environment: rbac.files(
            project,
            rbac.Asked(
                name=parsed.name or MANAGER_ROLE,
                from_runs=parsed.from_runs,
                namespaces=parsed.namespaces,
                account=parsed.account,
                keep_unused=parsed.keep_unused,
            ),
            environment,
        ),
        {
            "from-runs": (
                "DIR",
                "grant what runs were seen to do: the --runner-dir of an operator, or one run.json",
            ),
            "keep-unused": ("", "with --from-runs, also what files ask for and no run has used"),
            "namespaces": (
                "A,B",
                "a Role in each of them, for an operator with WATCH_NAMESPACE, and no ClusterRole",
            ),
            "account": ("NAMESPACE/NAME", "whose the rights are (default: as config/default says)"),
            "name": ("NAME", f"of the role (default: {MANAGER_ROLE})"),
        },
    ),
    "bundle": What(
        "what OLM installs the operator from: bundle/ and bundle.Dockerfile",
        lambda project, parsed, environment: bundle.files(
            project,
            bundle.Asked(
                version=parsed.version,
                image=parsed.image,
                channels=parsed.channels,
                default_channel=parsed.default_channel,
                package=parsed.package,
                manifests=parsed.manifests,
            ),
            environment,
        ),
        {
            "version": ("X.Y.Z", "of the operator (default: that of the bundle that is there, else 0.0.1)"),
            "image": ("IMAGE", "of the operator (default: as config/ says)"),
            "channels": ("A,B", "that list it (default: those of the bundle that is there, else alpha)"),
            "default-channel": ("A", "the channel for those who name none"),
            "package": ("NAME", "of the operator (default: that of its base in config/manifests/bases)"),
            "manifests": ("FILE", "built by kustomize, in place of config/default; - is standard input"),
        },
    ),
    "docs": What(
        "the reference of the project's custom resources, from its CRDs",
        lambda project, parsed, _: docs.files(project, Path(parsed.output or docs.FILE)),
        {"output": ("FILE", f"the page, in the project (default: {docs.FILE})")},
    ),
    "crds": What(
        "the CRDs of its kinds, of what their roles say of their variables",
        lambda project, _, environment: crds.files(project, environment),
        remarks=crds.remarks,
        differs=crds.differences,
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
        for flag, (value, text) in what.flags.items():
            if value:
                added.add_argument(f"--{flag}", default="", metavar=value, help=text)
            else:
                added.add_argument(f"--{flag}", action="store_true", help=text)


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
