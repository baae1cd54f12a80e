"""A project: `init` makes it, and the others need to know of it."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.config.yamlfile import read_all_yaml
from runner.errors import SettingsError
from runner.generate import schema
from runner.scaffold.changes import Changes, changing
from runner.scaffold.names import check_project
from runner.scaffold.templates import tree
from runner.validate import clusterrole
from runner.validate.documents import Document

FILE = Path("PROJECT")
ROLE = Path("config/rbac/role.yaml")
"""What the operator may do, made of the project's files as long as nobody has edited it."""
_ROLE_NAME = "manager-role"
_NEXT = """
The project {name} is made. Next, {there}add a kind:
  ansible-operator create api --group {group} --version v1alpha1 --kind Website
"""


@dataclass(frozen=True, slots=True)
class Project:
    """`domain` is empty where groups are given whole."""

    directory: Path
    name: str
    domain: str


def init(directory: Path, name: str, domain: str) -> Project:
    """Make a project, and say what was written.

    Raises SettingsError for names that cannot be, and for files in the way.
    """
    project = Project(directory.resolve(), name or _name(directory.resolve().name), domain)
    check_project(project.name, domain)
    if (project.directory / FILE).exists():
        raise SettingsError(
            f"{project.directory} is a project already, as its {FILE} says: add a kind with"
            " `ansible-operator create api`"
        )
    values = {"name": project.name, "domain": domain or '""'}
    with changing(project.directory) as changes:
        changes.create({**tree("project", values), Path(schema.FILE): schema.text()})
        write_role(project.directory, changes, {})
    return project


def read_project(directory: Path) -> Project:
    """What PROJECT says. Raises SettingsError where there is none."""
    try:
        text = (directory / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SettingsError(
            f"there is no {FILE} in {directory}: go to the directory of a project, or make one with"
            " `ansible-operator init`"
        ) from None
    documents = [Document(str(FILE), node) for node in read_all_yaml(text, str(FILE))]
    first = documents[0] if documents else None
    if first is None or not first.text("projectName"):
        raise SettingsError(f"{FILE} does not say the project's name: it needs `projectName: {directory.name}`")
    return Project(directory, first.text("projectName"), first.text("domain"))


def write_role(project: Path, changes: Changes, environment: Mapping[str, str]) -> None:
    """Make the role anew; on stderr, what cannot be told. A file that does not say so itself is left alone."""
    role, unknown = clusterrole.cluster_role(project, _ROLE_NAME, environment)
    for item in unknown:
        sys.stderr.write(f"cannot tell what rules are needed: {item}\n")
    before = changes.read(ROLE)
    if before and not before.startswith(clusterrole.HEADER):
        sys.stderr.write(f"{ROLE} is yours, and left as it is: add what `ansible-operator rbac` prints\n")
        return
    changes.replace(ROLE, clusterrole.text(role))


def _name(directory: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", directory.lower()).strip("-")


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
