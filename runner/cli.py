"""The command line: parse, call, exit code."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from runner.dev import cli as dev


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code of the process is returned."""
    parser = argparse.ArgumentParser(prog="ansible-operator", description=__doc__)
    dev.add_parser(parser.add_subparsers(dest="command", required=True))
    return dev.main(parser.parse_args(argv))
