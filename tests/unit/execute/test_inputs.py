"""The files that a run reads."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from runner.config.watches import Content
from runner.errors import RunError
from runner.execute.inputs import (
    COLLECTIONS,
    generated_inventory,
    remove_inputs,
    roles_path,
    write_inputs,
)
from runner.execute.run import Run
from runner.execute.rundir import RunDirectory
from runner.objects import GroupVersionKind, ObjectKey

KEY = ObjectKey(GroupVersionKind("cache.example.com", "v1", "Memcached"), "ns", "one")
RUN = Run(
    "123", KEY, "uid", Content(Path("/opt/roles/web"), is_role=True), {"b": "ü", "a": [1]}, "kubeconfig text"
)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    made = RunDirectory.of(tmp_path / "runner", KEY)
    made.make()
    return made


def test_extra_vars_are_compact_and_sorted(directory: RunDirectory) -> None:
    write_inputs(directory, RUN, {})

    assert (directory.path / "env/extravars").read_text() == '\t{"a":[1],"b":"\\u00fc"}'


def test_the_environment_names_the_kubeconfig_which_is_private(directory: RunDirectory) -> None:
    write_inputs(directory, RUN, {})

    names = json.loads((directory.path / "env/envvars").read_text())
    assert (names["K8S_AUTH_KUBECONFIG"], names["KUBECONFIG"]) == (str(directory.kubeconfig),) * 2
    assert directory.kubeconfig.read_text() == "kubeconfig text"
    assert stat.S_IMODE(directory.kubeconfig.stat().st_mode) == 0o600


def test_the_environment_leads_to_the_bundled_collection(directory: RunDirectory) -> None:
    write_inputs(directory, RUN, {"PYTHONPATH": "/mine"})

    names = json.loads((directory.path / "env/envvars").read_text())
    assert names["PYTHONPATH"] == f"/mine:{COLLECTIONS}"


def test_the_api_proxy_is_exempt_where_the_environment_names_another_proxy(directory: RunDirectory) -> None:
    write_inputs(directory, RUN, {"HTTP_PROXY": "http://egress:3128", "no_proxy": ".svc"})
    names = json.loads((directory.path / "env/envvars").read_text())
    assert (names["NO_PROXY"], names["no_proxy"]) == (".svc,localhost,127.0.0.1",) * 2

    write_inputs(directory, RUN, {})
    assert "NO_PROXY" not in json.loads((directory.path / "env/envvars").read_text())


def test_ansible_args_are_written_only_where_there_are_some(directory: RunDirectory) -> None:
    write_inputs(directory, replace(RUN, ansible_args="'--tags all'"), {})
    assert (directory.path / "env/cmdline").read_text() == "--tags all"

    write_inputs(directory, RUN, {})
    assert not (directory.path / "env/cmdline").exists()


@pytest.mark.parametrize(
    ("virtual_env", "python"), [("", "{{ansible_playbook_python}}"), ("/venv", "/venv/bin/python3")]
)
def test_the_inventory_is_this_host_and_this_python(virtual_env: str, python: str) -> None:
    assert generated_inventory(virtual_env) == (
        f"localhost ansible_connection=local ansible_python_interpreter={python}"
    )


def test_a_role_is_run_by_a_play_that_goes_away_again(directory: RunDirectory) -> None:
    playbook = write_inputs(directory, replace(RUN, gather_facts=False), {})

    assert json.loads(playbook.read_text()) == [
        {"hosts": "localhost", "gather_facts": False, "roles": [{"name": "web"}]}
    ]
    assert playbook.parent == directory.path / "project"
    remove_inputs(directory, playbook)
    assert not playbook.exists()
    assert not directory.kubeconfig.exists()


def test_plays_that_a_killed_operator_left_are_removed(directory: RunDirectory) -> None:
    left = write_inputs(directory, RUN, {})
    write_inputs(directory, RUN, {})

    assert not left.exists()


def test_a_playbook_runs_where_it_is_and_stays(directory: RunDirectory, tmp_path: Path) -> None:
    playbook = tmp_path / "site.yml"
    playbook.write_text("- hosts: all\n")
    run = replace(RUN, content=Content(playbook, is_role=False))

    assert write_inputs(directory, run, {}) == playbook
    assert (directory.path / "project/playbook.yaml").read_text() == "- hosts: all\n"
    remove_inputs(directory, playbook)
    assert playbook.exists()


def test_a_playbook_that_is_not_there_is_an_error(directory: RunDirectory) -> None:
    run = replace(RUN, content=Content(Path("/missing.yml"), is_role=False))

    with pytest.raises(RunError, match=r"/missing\.yml"):
        write_inputs(directory, run, {})


@pytest.mark.parametrize(("given", "made"), [("", "/opt/roles/"), ("/a:/b", "/opt/roles/:/a:/b")])
def test_a_roles_parent_comes_before_other_role_paths(given: str, made: str) -> None:
    assert roles_path(RUN, {"ANSIBLE_ROLES_PATH": given}) == made


def test_a_playbook_keeps_its_role_paths() -> None:
    assert roles_path(replace(RUN, content=Content(Path("/x.yml"), is_role=False)), {}) is None


def test_an_inventory_file_is_copied_with_its_mode(directory: RunDirectory, tmp_path: Path) -> None:
    script = tmp_path / "inventory.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    write_inputs(directory, RUN, {"ANSIBLE_INVENTORY": str(script)})

    copied = directory.path / "inventory/hosts"
    assert copied.read_text() == "#!/bin/sh\n"
    assert stat.S_IMODE(copied.stat().st_mode) == 0o755


def test_an_inventory_directory_is_copied_whole(directory: RunDirectory, tmp_path: Path) -> None:
    (tmp_path / "inventory/group_vars").mkdir(parents=True)
    (tmp_path / "inventory/group_vars/all.yml").write_text("a: 1\n")
    write_inputs(directory, RUN, {"ANSIBLE_INVENTORY": str(tmp_path / "inventory")})

    assert (directory.path / "inventory/group_vars/all.yml").read_text() == "a: 1\n"
    assert not (directory.path / "inventory/hosts").exists()
