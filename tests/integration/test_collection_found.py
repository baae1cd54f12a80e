"""Which operator_sdk.util Ansible finds: the user's own, wherever it is, else the bundled one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.execute.inputs import COLLECTIONS, python_path

MODULE = "operator_sdk.util.requeue_after"
OWN = """
DOCUMENTATION = "{module: requeue_after, short_description: mine, description: mine, author: me, options: {}}"
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A directory with a collection of the user's own."""
    modules = tmp_path / "own/ansible_collections/operator_sdk/util/plugins/modules"
    modules.mkdir(parents=True)
    (modules / "requeue_after.py").write_text(OWN)
    return tmp_path / "own"


def found(home: Path, **environment: str) -> Path:
    """The file that Ansible takes the module from, in a run that inherits `environment`."""
    inherited = {"PATH": os.environ["PATH"], "HOME": str(home), **environment}
    path = python_path(inherited)
    ended = subprocess.run(
        [str(Path(sys.executable).with_name("ansible-doc")), "--json", MODULE],
        env={**inherited, **({"PYTHONPATH": path} if path else {})},
        capture_output=True,
        text=True,
        check=False,
    )
    documented = json.loads(ended.stdout or "{}")
    assert MODULE in documented, ended.stderr
    return Path(documented[MODULE]["doc"]["filename"])


def test_without_any_configuration_the_bundled_collection_is_found(tmp_path: Path) -> None:
    assert found(tmp_path).is_relative_to(COLLECTIONS)


def test_paths_of_other_collections_do_not_hide_the_bundled_collection(tmp_path: Path) -> None:
    assert found(tmp_path, ANSIBLE_COLLECTIONS_PATH=str(tmp_path)).is_relative_to(COLLECTIONS)


def test_a_collection_in_ansibles_default_directories_wins(own: Path, tmp_path: Path) -> None:
    (tmp_path / ".ansible").mkdir()
    (tmp_path / ".ansible/collections").symlink_to(own)
    assert found(tmp_path).resolve().is_relative_to(own)


def test_a_collection_in_the_configured_paths_wins(own: Path, tmp_path: Path) -> None:
    assert found(tmp_path, ANSIBLE_COLLECTIONS_PATH=str(own)).is_relative_to(own)


def test_a_collection_where_ansible_cfg_says_wins(own: Path, tmp_path: Path) -> None:
    (tmp_path / "ansible.cfg").write_text(f"[defaults]\ncollections_path = {own}\n")
    assert found(tmp_path, ANSIBLE_CONFIG=str(tmp_path / "ansible.cfg")).is_relative_to(own)


def test_a_collection_on_pythons_path_wins(own: Path, tmp_path: Path) -> None:
    assert found(tmp_path, PYTHONPATH=str(own)).is_relative_to(own)


@pytest.mark.parametrize("module", ["k8s_status", "k8s_event", "osdk_metric"])
def test_every_module_is_documented(module: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [str(Path(sys.executable).with_name("ansible-doc")), "--json", f"operator_sdk.util.{module}"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(COLLECTIONS)},
        capture_output=True,
        text=True,
        check=True,
    )
    parts = json.loads(ended.stdout)[f"operator_sdk.util.{module}"]
    assert all(parts[part] for part in ("doc", "examples", "return"))
