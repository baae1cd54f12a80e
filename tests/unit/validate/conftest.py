"""A small sound project on disk, of which a test changes what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from runner.validate.project import validate
from tests.unit.validate.good import FILES

WATCHES = """\
- group: example.com
  version: v1
  kind: Thing
  role: thing
  markUnsafe: true
"""
TASKS = """\
- name: Say something
  ansible.builtin.debug:
    msg: hello
"""
HEAD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
"""
"""Of a CRD, up to the schemas of its parts."""
CRD = f"""\
{HEAD}\
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
"""
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager}
rules:
  - apiGroups: [example.com]
    resources: [things, things/status, things/finalizers]
    verbs: [get, list, watch, update]
  - apiGroups: [""]
    resources: [events]
    verbs: [create, patch]
"""


SOUND = {
    "watches.yaml": WATCHES,
    "roles/thing/tasks/main.yml": TASKS,
    "config/crd/thing.yaml": CRD,
    "config/rbac/role.yaml": ROLE,
}


class Sound:
    """The project's files by name; `write` adds or replaces some, and `validate` gives the findings as text."""

    def __init__(self, path: Path, files: Mapping[str, str]) -> None:
        self.path = path / "project"
        self.home = path / "home"
        self.environment = {"HOME": str(self.home)}
        self.write(files)

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(dedent(text))

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.path / name).read_text()
        assert old in text
        (self.path / name).write_text(text.replace(old, new))

    def install(self, *names: str) -> None:
        """Make collections, or (with three parts) roles of them."""
        for name in names:
            namespace, collection, *role = name.split(".")
            place = self.home / ".ansible/collections/ansible_collections" / namespace / collection
            (place / "roles" / role[0] / "tasks" if role else place).mkdir(parents=True, exist_ok=True)

    def manifest(self, name: str, text: str) -> None:
        """Give an installed collection the manifest that Galaxy's have."""
        place = self.home / ".ansible/collections/ansible_collections" / Path(*name.split("."))
        (place / "MANIFEST.json").write_text(text)

    def validate(self) -> list[str]:
        found = validate(self.path, self.path / "watches.yaml", self.environment)
        return [str(finding).replace(f"{self.path}/", "") for finding in found]


@pytest.fixture
def sound(tmp_path: Path) -> Sound:
    return Sound(tmp_path, SOUND)


@pytest.fixture
def good(tmp_path: Path) -> Sound:
    """A larger one, as authors have them."""
    return Sound(tmp_path, FILES)
