"""Arguments of ansible-playbook, and whatever makes it perform only a part of its content."""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_PARTIAL = (
    "--check",
    "--limit",
    "--list-hosts",
    "--list-tags",
    "--list-tasks",
    "--skip-tags",
    "--start-at-task",
    "--step",
    "--syntax-check",
    "--tags",
)
_SHORT = re.compile(r"-[vkKbDJ]*[tlC]")
"""`-t`, `-l` and `-C`, also behind short options that take no value."""
_VARIABLES = {
    "ANSIBLE_RUN_TAGS": ("", "all"),
    "ANSIBLE_SKIP_TAGS": ("",),
    "ANSIBLE_HOST_PATTERN_MISMATCH": ("", "warning", "error"),
}
"""Variables of the environment, and the values that leave nothing out."""


def unquoted(arguments: str) -> str:
    """`arguments` without one pair of single quotes around the whole, as manifests like to write it."""
    quoted = len(arguments) > 1 and arguments.startswith("'") and arguments.endswith("'")
    return arguments[1:-1] if quoted else arguments


def partial(arguments: str, environment: Mapping[str, str]) -> str:
    """The option or variable by which runs perform only a part of their content; empty if there is none.

    Ansible takes what an option begins with for the option, so that counts as well.
    """
    for word in _words(unquoted(arguments)):
        option = word.partition("=")[0]
        if option.startswith("--"):
            if len(option) > 2 and any(known.startswith(option) for known in _PARTIAL):
                return option
        elif _SHORT.match(word):
            return option
    return next((name for name, whole in _VARIABLES.items() if environment.get(name, "") not in whole), "")


def partial_run(arguments: str, environment: Mapping[str, str]) -> str:
    """As `partial`, for runs on this machine, whose ansible.cfg counts as well."""
    return partial(arguments, environment) or _configured_tags(environment)


def _configured_tags(environment: Mapping[str, str]) -> str:
    """The ansible.cfg that leaves tasks out by their tags; empty if none does.

    Ansible reads the first of these files that exists; an unreadable one fails the run.
    """
    home = Path(environment.get("HOME") or "/")
    given = environment.get("ANSIBLE_CONFIG") or "/nowhere"
    named = home / given[2:] if given.startswith("~/") else Path(given)
    files = [named / "ansible.cfg" if named.is_dir() else named]
    files += [home / ".ansible.cfg", Path("/etc/ansible/ansible.cfg")]
    file = next((file for file in files if file.is_file()), None)
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    with suppress(configparser.Error, UnicodeDecodeError):
        parser.read([file] if file else [])
    tags = {name: parser.get("tags", name, fallback="").strip() for name in ("run", "skip")}
    return f"[tags] in {file}" if tags["run"] not in ("", "all") or tags["skip"] else ""


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # a quote without its other: the run fails of it
        return arguments.split()
