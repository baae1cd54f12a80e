"""`init`: a project, to which `create` adds kinds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from runner.scaffold.project import init

_NEXT = """
The project {name} is made. Next, {there}add a kind:
  ansible-operator create api --group {group} --version v1alpha1 --kind Website
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", nargs="?", default=".", metavar="DIR", help="where to (default: here)")
    parser.add_argument(
        "--domain",
        default="",
        help="what the groups of its kinds end with, such as example.com (default: nothing)",
    )
    parser.add_argument("--name", default="", help="the project's name (default: the directory's)")


def main(parsed: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Write the project and say what was written, and what to do next. Raises SettingsError."""
    project = init(Path(parsed.directory), parsed.name, parsed.domain)
    there = "" if project.directory == Path.cwd() else f"in {parsed.directory}, "
    group = "web" if project.domain else "web.example.com"
    sys.stdout.write(_NEXT.format(name=project.name, there=there, group=group))
    return 0
