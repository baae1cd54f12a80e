"""`ansible-operator rbac`: prints the ClusterRole that a project's operator needs, as far as its files tell."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from runner.config.watchesfile import read_watches
from runner.errors import WatchesError
from runner.validate.content.places import IMAGE_HOME
from runner.validate.documents import Document, of_kind, project_directory, read_manifests, shown
from runner.validate.manifests import webhooks
from runner.validate.manifests.touches import EVENTS, Touch, of_content, of_watch, resource_of

HEADER = "# Made by `ansible-operator rbac`; rules it cannot know belong in a role of their own.\n---\n"

Rule = dict[str, list[str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory", nargs="?", default=".", metavar="DIRECTORY", help="the project (default: here)"
    )
    parser.add_argument(
        "--name", default="manager-role", metavar="VALUE", help="of the ClusterRole (default: manager-role)"
    )


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print the role, and on stderr what cannot be told.

    Raises SettingsError for no directory, WatchesError for mistakes in watches.yaml.
    """
    role, unknown = cluster_role(project_directory(parsed.directory), parsed.name, environment)
    for item in unknown:
        sys.stderr.write(f"cannot tell: {item}\n")
    sys.stdout.write(HEADER + yaml.dump(role, Dumper=_Dumper, sort_keys=False))
    return 0


def cluster_role(project: Path, name: str, environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The ClusterRole of the operator in `project`, and what cannot be told. Raises WatchesError."""
    watches = read_watches(Path(shown(project / "watches.yaml")), project, environment, IMAGE_HOME)
    if watches.fatal:
        raise WatchesError(watches.fatal)
    own = [touch for watch in watches.watches for touch in of_watch(watch)]
    touches, unknown = of_content(project)
    manifests, _ = read_manifests(project)
    crds = of_kind(manifests, "CustomResourceDefinition")
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules([EVENTS, *own, *touches], crds) + webhooks.rules_of(manifests),
    }, unknown


def rules(touches: Iterable[Touch], crds: list[Document]) -> list[Rule]:
    """Rules of a role: one for each group and set of verbs, sorted."""
    verbs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for touch in touches:
        verbs[touch.group, resource_of(touch, crds)].update(touch.verbs)
    resources: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource), wanted in sorted(verbs.items()):
        resources[group, tuple(sorted(wanted))].append(resource)
    return [
        {"apiGroups": [group], "resources": names, "verbs": list(wanted)}
        for (group, wanted), names in sorted(resources.items())
    ]


class _Dumper(yaml.SafeDumper):
    """Indents lists, as ansible-lint wants them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)
