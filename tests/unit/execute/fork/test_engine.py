"""Which runs the warm engine takes, and which of them can share zygotes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runner.execute.fork import engine
from runner.execute.fork.inside.releases import unknown

PLAYBOOK = str(Path(sys.executable).with_name("ansible-playbook"))


def test_a_plain_run_can_be_warm(tmp_path: Path) -> None:
    assert engine.refused([PLAYBOOK, "play.yml"], tmp_path) == ""


@pytest.mark.parametrize(
    ("version", "known"), [("2.18.9", True), ("2.19.0", True), ("2.20.1", False), ("2.2.0", False)]
)
def test_only_known_releases_of_ansible_core_can_be_warm(version: str, known: bool) -> None:
    assert (unknown(version) == "") is known


def test_a_run_of_an_ansible_from_elsewhere_is_cold(tmp_path: Path) -> None:
    assert "/usr/bin/ansible-playbook" in engine.refused(["/usr/bin/ansible-playbook", "play.yml"], tmp_path)


@pytest.mark.parametrize(("argument", "taken"), [("-v", True), ("-vv", True), ("-vvv", False), ("-vvvvvv", False)])
def test_a_run_that_shows_how_it_is_connected_is_cold(tmp_path: Path, argument: str, taken: bool) -> None:
    assert (engine.refused([PLAYBOOK, argument, "play.yml"], tmp_path) == "") is taken


def test_a_run_with_an_ansible_cfg_beside_it_is_cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)
    (tmp_path / "ansible.cfg").touch()
    assert "ansible.cfg" in engine.refused([PLAYBOOK, "play.yml"], tmp_path)


@pytest.mark.parametrize("name", ["KUBECONFIG", "TMPDIR", "ANSIBLE_ROLES_PATH", "ANSIBLE_CACHE_PLUGIN_CONNECTION"])
def test_variables_that_belong_to_one_run_do_not_keep_it_from_sharing_zygotes(name: str) -> None:
    assert engine.key({"HOME": "/root", name: "one"}) == engine.key({"HOME": "/root", name: "two"})


@pytest.mark.parametrize("name", ["ANSIBLE_FORKS", "ANSIBLE_COLLECTIONS_PATH", "PYTHONPATH", "HOME", "ANYTHING"])
def test_a_difference_in_the_environment_keeps_runs_from_sharing_zygotes(name: str) -> None:
    assert engine.key({name: "one"}) != engine.key({name: "two"})


def test_the_order_of_the_environment_does_not_keep_runs_from_sharing_zygotes() -> None:
    assert engine.key({"A": "1", "B": "2"}) == engine.key({"B": "2", "A": "1"})
