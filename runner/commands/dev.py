"""`dev`: the local control plane and, where that meets the operator, `dev run`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial

from runner.config.flags import RUN_FLAGS, add_flags
from runner.dev import cli

FLAGS = (
    "watches-file",
    "ansible-verbosity",
    "ansible-roles-path",
    "ansible-collections-path",
    "ansible-args",
    "reconcile-period",
    "max-concurrent-reconciles",
    "run-deadline",
    "graceful-shutdown-timeout",
    "runner-dir",
    "executor",
    "webhooks",
    "zap-log-level",
)
"""Of `run`, those that mean something for an operator on one's own machine."""
_RUN = "run the operator of a project on it, and follow what is saved: roles, playbooks, watches.yaml, CRDs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = cli.add_arguments(parser)
    parents = [cli.place_parser(), cli.programs_parser()]
    run = commands.add_parser("run", parents=parents, help=_RUN, description=_RUN, allow_abbrev=False)
    run.add_argument("--samples", action="store_true", help="apply the project's samples, too, as they are saved")
    run.add_argument("--plain", action="store_true", help="lines, and no table, also on a terminal")
    add_flags(run, [flag for flag in RUN_FLAGS if flag.name in FLAGS])


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """The exit code. Raises OperatorError."""
    if parsed.dev_command != "run":
        return cli.main(parsed, environment)
    from runner.commands.devrun import run  # noqa: PLC0415  (the others must not pay for importing the operator)

    return cli.called(partial(run, environment), parsed)
