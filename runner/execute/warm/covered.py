"""What the warm engine takes, decided from a run's command and environment before anything is started."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.execute.warm.inside.ofrun import ANSIBLE, OTHERS

_LINES = ("2.18.", "2.19.")
"""Those of ansible-core that inside/lines.py knows."""
_VERBOSE = re.compile("-v{3,}")
Environment = Mapping[str, str]


def static(environment: Environment) -> dict[str, str]:
    """What all runs of an operator have in common: a zygote reads it when it starts."""
    return {name: value for name, value in environment.items() if name not in ANSIBLE | OTHERS}


def key(environment: Environment) -> str:
    """Runs with the same key can be forked from the same zygotes."""
    return hashlib.sha256(json.dumps(static(environment), sort_keys=True).encode()).hexdigest()


def unknown(version: str) -> str:
    """Why nothing of this ansible-core can be warm, else an empty string."""
    return "" if version.startswith(_LINES) else f"ansible-core {version} is not one that it knows"


def refused(command: Sequence[str], cwd: Path) -> str:
    """Why this run cannot be warm, else an empty string."""
    beside = Path(sys.executable).with_name("ansible-playbook")
    if command[0] != str(beside):
        return f"it is {command[0]} that is to be run, not {beside}"
    if any(_VERBOSE.fullmatch(argument) for argument in command):
        return "from verbosity 3 on, Ansible shows how it is started and connected"
    configuration = cwd / "ansible.cfg"
    if os.path.lexists(configuration) and "ANSIBLE_CONFIG" not in os.environ:
        return f"{configuration} configures Ansible for this run alone"
    return ""
