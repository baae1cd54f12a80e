"""config/rbac/role.yaml: what the operator may do, made of the project's files as long as nobody has edited it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from runner.scaffold.changes import Changes
from runner.validate import clusterrole

ROLE = Path("config/rbac/role.yaml")
_NAME = "manager-role"


def write_role(project: Path, changes: Changes, environment: Mapping[str, str]) -> None:
    """Make the role anew; on stderr, what cannot be told. A file that does not say so itself is left alone."""
    role, unknown = clusterrole.cluster_role(project, _NAME, environment)
    for item in unknown:
        sys.stderr.write(f"cannot tell what rules are needed: {item}\n")
    before = changes.read(ROLE)
    if before and not before.startswith(clusterrole.HEADER):
        sys.stderr.write(f"{ROLE} is yours, and left as it is: add what `ansible-operator rbac` prints\n")
        return
    changes.replace(ROLE, clusterrole.text(role))
