"""`create WHAT`: a kind in a project, or what has the API server ask the operator before it takes one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from runner.scaffold import api, names, webhook
from runner.scaffold.project import read_project

_API = "add a kind, with the role or playbook that is run for it"
_WEBHOOK = "have the API server ask the operator before it takes a custom resource of a kind"
_NEXT = """
Next, see it run, and in another terminal create one:
  ansible-operator dev run
  kubectl --kubeconfig $(ansible-operator dev kubeconfig) apply -f config/samples/{stem}.yaml
"""
_NEXT_OF_WEBHOOK = """
Next, see it refuse what does not fit; in a cluster, `make deploy` has the API server ask:
  ansible-operator dev run
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    whats = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    added = whats.add_parser("api", help=_API, description=_API, allow_abbrev=False)
    _add_kind(added)
    content = added.add_mutually_exclusive_group()
    content.add_argument("--role", action="store_true", help="run a new role for it, which is the default")
    content.add_argument("--playbook", action="store_true", help="run a new playbook for it, with a new role")
    content.add_argument(
        "--from-role",
        default="",
        metavar="ROLE",
        help="run this role: a directory, which is copied to roles/ unless it is there, or that of a collection",
    )
    added.add_argument("--cluster-scoped", action="store_true", help="its objects are in no namespace")
    hook = whats.add_parser("webhook", help=_WEBHOOK, description=_WEBHOOK, allow_abbrev=False)
    _add_kind(hook)
    hook.add_argument("--tasks", action="store_true", help="also refuse by tasks of the role, tasks/admit.yml")
    hook.add_argument("--defaulting", action="store_true", help="also set defaults by tasks, tasks/default.yml")


def _add_kind(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--group", required=True, help="of the API; the project's domain is added to it")
    parser.add_argument("--version", required=True, help="of the API, such as v1alpha1")
    parser.add_argument("--kind", required=True, help="in CamelCase, such as Website")


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Write it and say what was written, and what to do next. Raises SettingsError and WatchesError."""
    project = read_project(Path.cwd())
    kind = names.api(parsed.group, parsed.version, parsed.kind, project.domain)
    if parsed.what == "webhook":
        webhook.create_webhook(project, webhook.Wanted(kind, parsed.tasks, parsed.defaulting), environment)
        sys.stdout.write(_NEXT_OF_WEBHOOK)
        return 0
    api.create_api(
        project, api.Wanted(kind, parsed.from_role, parsed.playbook, parsed.cluster_scoped), environment
    )
    sys.stdout.write(_NEXT.format(stem=names.stem(kind.kind)))
    return 0
