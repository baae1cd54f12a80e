"""`ansible-operator rbac`: prints the ClusterRole that a project's operator needs, as far as its files tell."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from runner.config.watches import Watch
from runner.config.watchesfile import read_watches
from runner.errors import WatchesError
from runner.validate.content.places import IMAGE_HOME
from runner.validate.documents import Document, of_kind, project_directory, read_manifests, shown
from runner.validate.manifests.touches import EVENTS, Touch, of_content, of_watch, resource_of

HEADER = "# Made by `ansible-operator rbac`; rules it cannot know belong in a role of their own.\n---\n"
NAME = "manager-role"

Rule = dict[str, list[str]]
Verbs = dict[tuple[str, str], set[str]]
"""What is done with each resource of a group; a subresource is named as rules name it, such as `pods/log`."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What the operator does itself, what its tasks do, and of what that cannot be told."""

    watches: tuple[Watch, ...]
    crds: list[Document]
    own: Verbs
    content: Verbs
    unknown: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory", nargs="?", default=".", metavar="DIRECTORY", help="the project (default: here)"
    )
    parser.add_argument("--name", default=NAME, metavar="VALUE", help=f"of the ClusterRole (default: {NAME})")


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print the role, and on stderr what cannot be told.

    Raises SettingsError for no directory, WatchesError for mistakes in watches.yaml.
    """
    role, unknown = cluster_role(project_directory(parsed.directory), parsed.name, environment)
    for item in unknown:
        sys.stderr.write(f"cannot tell: {item}\n")
    sys.stdout.write(text(role))
    return 0


def text(role: dict[str, Any]) -> str:
    """The file."""
    return HEADER + dumped(role)


def cluster_role(project: Path, name: str, environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The ClusterRole of the operator in `project`, and what cannot be told. Raises WatchesError."""
    found = needs(project, environment)
    return role_of("ClusterRole", {"name": name}, rules_of(united(found.own, found.content))), found.unknown


def needs(project: Path, environment: Mapping[str, str]) -> Needs:
    """What the files of a project tell. Raises WatchesError."""
    watches = read_watches(Path(shown(project / "watches.yaml")), project, environment, IMAGE_HOME)
    if watches.fatal:
        raise WatchesError(watches.fatal)
    own = [touch for watch in watches.watches for touch in of_watch(watch)]
    touches, unknown = of_content(project)
    crds = of_kind(read_manifests(project)[0], "CustomResourceDefinition")
    return Needs(tuple(watches.watches), crds, verbs_of([EVENTS, *own], crds), verbs_of(touches, crds), unknown)


def role_of(kind: str, metadata: Mapping[str, str], rules_: list[Rule]) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": dict(metadata),
        "rules": rules_,
    }


def verbs_of(touches: Iterable[Touch], crds: list[Document]) -> Verbs:
    verbs: Verbs = defaultdict(set)
    for touch in touches:
        verbs[touch.group, resource_of(touch, crds)].update(touch.verbs)
    return verbs


def united(*parts: Verbs) -> Verbs:
    found: Verbs = defaultdict(set)
    for part in parts:
        for resource, verbs in part.items():
            found[resource] |= verbs
    return found


def rules(touches: Iterable[Touch], crds: list[Document]) -> list[Rule]:
    return rules_of(verbs_of(touches, crds))


def rules_of(verbs: Verbs) -> list[Rule]:
    """Rules of a role: one for each group and set of verbs, sorted."""
    resources: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource), wanted in sorted(verbs.items()):
        if wanted:
            resources[group, tuple(sorted(wanted))].append(resource)
    return [
        {"apiGroups": [group], "resources": names, "verbs": list(wanted)}
        for (group, wanted), names in sorted(resources.items())
    ]


def dumped(found: Mapping[str, Any]) -> str:
    return yaml.dump(found, Dumper=_Dumper, sort_keys=False)


class _Dumper(yaml.SafeDumper):
    """Indents lists, as ansible-lint wants them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)
