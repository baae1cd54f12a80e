"""`dev up --dir` and `dev down --dir` from outside: what they have not made stays as it is, to the byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ARGUMENTS = {
    "up": ("up",),
    "up --keep": ("up", "--keep"),
    "down": ("down",),
    "down --delete": ("down", "--delete"),
}
PROJECT = {
    "watches.yaml": "[]\n",
    "config/default/kustomization.yaml": "kind: Kustomization\n",
    "config/kwok.kubeconfig": "mine\n",
    "data/member/snap/db": "mine\n",
    "logs/etcd.log": "mine\n",
    "run/mine": "mine\n",
    "certificates/ca.key": "mine\n",
    "kubeconfig": "mine\n",
    "audit.log": "mine\n",
}


def write(directory: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(content)


def contents(directory: Path) -> dict[str, str]:
    """Every file, directory and link below `directory`, with what it holds."""
    found = {}
    for path in sorted(directory.rglob("*")):
        what = f"-> {path.readlink()}" if path.is_symlink() else "/" if path.is_dir() else path.read_text()
        found[str(path.relative_to(directory))] = what
    return found


def dev(directory: Path, command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    name, *flags = ARGUMENTS[command]
    line = [sys.executable, "-m", "runner", "dev", name, "--dir", str(directory), *flags]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60, env=environment)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """In which no program of a control plane can be had: what is refused is refused before they are needed."""
    nowhere = str(tmp_path / "nowhere")
    kept = {name: value for name, value in os.environ.items() if name != "KUBEBUILDER_ASSETS"}
    return {**kept, "PATH": nowhere, "HOME": nowhere, "ANSIBLE_OPERATOR_DEV_MIRROR": "http://127.0.0.1:1"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An operator's directory, with names in it that a control plane uses too."""
    write(tmp_path / "project", PROJECT)
    return tmp_path / "project"


@pytest.mark.parametrize("command", ARGUMENTS)
def test_a_project_is_left_as_it_is_and_the_command_says_why(
    project: Path, command: str, environment: dict[str, str]
) -> None:
    before = contents(project)

    done = dev(project, command, environment)

    assert contents(project) == before
    assert done.returncode == 1
    assert f"{project}: is not empty and was not made by `ansible-operator dev up`" in done.stderr
    assert "give --dir" in done.stderr


@pytest.mark.parametrize("command", ARGUMENTS)
def test_a_file_that_merely_has_the_name_of_ours_makes_no_directory_ours(
    project: Path, command: str, environment: dict[str, str]
) -> None:
    write(project, {"controlplane.json": json.dumps({"ports": {}, "ready": True})})
    before = contents(project)

    assert dev(project, command, environment).returncode == 1

    assert contents(project) == before


@pytest.mark.parametrize("command", ["down", "down --delete"])
def test_an_older_version_may_have_started_in_a_project_and_only_what_it_made_goes(
    project: Path, command: str, environment: dict[str, str]
) -> None:
    state = {
        "ports": {"api": 1, "etcd": 2, "etcd_peer": 3},
        "options": {"keep": False, "audit": None},
        "ready": True,
    }
    write(project, {"controlplane.json": json.dumps(state), "config/mine.yaml": "mine\n", "data/mine": "mine\n"})

    assert dev(project, command, environment).returncode == 0

    left = {name for name, content in contents(project).items() if content != "/"}
    assert left == {
        "watches.yaml",
        "config/default/kustomization.yaml",
        "config/mine.yaml",
        "data/mine",
        "run/mine",
    }


@pytest.mark.parametrize("command", ARGUMENTS)
def test_what_a_link_leads_to_is_not_ours(project: Path, command: str, environment: dict[str, str]) -> None:
    before = contents(project)
    ours = project.parent / "ours"
    write(ours, {".ansible-operator-dev": "mark\n"})
    for name in ("config", "data", "logs", "run", "certificates"):
        (ours / name).symlink_to(project / name)

    dev(ours, command, environment)

    assert contents(project) == before


@pytest.mark.parametrize("command", ARGUMENTS)
def test_a_file_in_the_place_of_the_directory_is_named(
    tmp_path: Path, command: str, environment: dict[str, str]
) -> None:
    (tmp_path / "file").write_text("mine")

    done = dev(tmp_path / "file", command, environment)

    assert (done.returncode, (tmp_path / "file").read_text()) == (1, "mine")
    assert done.stderr.startswith("error: ")
    assert f"{tmp_path / 'file'}'" in done.stderr


@pytest.mark.parametrize("command", ["down", "down --delete"])
def test_an_empty_directory_stays_when_dev_goes_down(
    tmp_path: Path, command: str, environment: dict[str, str]
) -> None:
    (tmp_path / "empty").mkdir()

    assert dev(tmp_path / "empty", command, environment).returncode == 0

    assert (tmp_path / "empty").is_dir()


def test_a_start_that_fails_before_it_made_anything_leaves_nothing(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "empty").mkdir()

    assert dev(tmp_path / "empty", "up", environment).returncode == 1

    assert contents(tmp_path / "empty") == {}


@pytest.mark.parametrize("command", ARGUMENTS)
def test_a_directory_where_everybody_may_write_is_refused(
    tmp_path: Path, command: str, environment: dict[str, str]
) -> None:
    """Somebody else's records could name any process to end, and their links any file to write."""
    shared = tmp_path / "shared"
    write(shared, {".ansible-operator-dev": "mark\n"})
    shared.chmod(0o777)

    done = dev(shared, command, environment)

    assert (done.returncode, contents(shared)) == (1, {".ansible-operator-dev": "mark\n"})
    assert "others may write" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory of another user's")
@pytest.mark.parametrize("command", ARGUMENTS)
def test_a_directory_of_another_user_is_refused(tmp_path: Path, command: str, environment: dict[str, str]) -> None:
    theirs = tmp_path / "theirs"
    write(theirs, {".ansible-operator-dev": "mark\n"})
    os.chown(theirs, 12345, 12345)

    done = dev(theirs, command, environment)

    assert (done.returncode, contents(theirs)) == (1, {".ansible-operator-dev": "mark\n"})
    assert "belongs to another user" in done.stderr
