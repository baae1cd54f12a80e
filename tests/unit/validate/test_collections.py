"""No false alarm: the roles of three well-known collections, each run for a kind, against the real modules."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from runner.validate.project import validate
from tools.install_collections import READ, TO_READ

REQUIRED = (
    *("ansible.posix", "ansible.utils", "ansible.windows", "community.docker", "community.general"),
    *("community.grafana", "community.mongodb", "community.mysql", "community.postgresql", "community.windows"),
    *("community.zabbix", "grafana.grafana"),
)
TRUE = {
    "community/zabbix": [  # the quotes of `ansible_facts['os_family'] != 'Windows"` don't match
        "error: roles/zabbix_agent/tasks/api.yml:23: [2].when[2]: Jinja cannot parse this"
    ]
}
"""Mistakes that these releases do have."""


def project(collection: str, path: Path) -> Path:
    """A project with the roles of a collection, and a watch for each."""
    shutil.copytree(TO_READ / "ansible_collections" / collection / "roles", path / "roles")
    roles = sorted(role.name for role in (path / "roles").iterdir() if (role / "tasks").is_dir())
    kinds = [{"group": "example.com", "version": "v1", "kind": f"Kind{place}"} for place in range(len(roles))]
    watches = [kind | {"role": role, "markUnsafe": True} for kind, role in zip(kinds, roles, strict=True)]
    (path / "watches.yaml").write_text(json.dumps(watches))
    (path / "requirements.yml").write_text(json.dumps({"collections": REQUIRED}))
    return path


@pytest.mark.parametrize("collection", READ)
def test_nothing_is_said_of_the_roles_but_what_is_true(collection: str, tmp_path: Path) -> None:
    made = project(collection, tmp_path)
    environment = {"HOME": str(tmp_path), "ANSIBLE_COLLECTIONS_PATH": str(TO_READ)}
    found = [
        str(finding).replace(f"{tmp_path}/", "")
        for finding in validate(made, made / "watches.yaml", environment)
        if finding.rule not in ("crd-none", "collection-not-installed")  # true of this project
    ]
    expected = TRUE.get(collection, [])
    assert len(found) == len(expected), found
    assert all(said.startswith(beginning) for said, beginning in zip(found, expected, strict=True))
