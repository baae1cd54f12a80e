"""The arguments of `ansible-operator validate`, apart from what carries them out, which takes long to import."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `validate`."""
    parser.add_argument(
        "directory", nargs="?", default=".", metavar="DIRECTORY", help="the project (default: here)"
    )
    parser.add_argument(
        "--watches-file", default="watches.yaml", metavar="VALUE", help="from DIRECTORY (default: watches.yaml)"
    )
    parser.add_argument(
        "--output", choices=("text", "json"), default="text", help="for people or for programs (default: text)"
    )
