"""What is done without a shell has the effect and the answer of the shell's."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("ansible")
from runner.execute.fork.inside import shell


def by_shell(command: str) -> tuple[int, bytes, bytes]:
    done = subprocess.run(command, shell=True, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def making(directory: Path, name: str = "ansible-tmp-1-2-3") -> str:
    path = directory / name
    return (
        f"""/bin/sh -c '( umask 77 && mkdir -p "` echo {directory} `"&& mkdir "` echo {path} `" """
        f"""&& echo {name}="` echo {path} `" ) && sleep 0'"""
    )


@pytest.mark.parametrize("command", ["/bin/sh -c 'echo ~ && sleep 0'", "/bin/sh -c 'echo ~root && sleep 0'"])
def test_a_home_directory_is_the_one_that_the_shell_tells(command: str) -> None:
    assert shell.answer(command) == by_shell(command)


def test_a_user_that_is_not_there_is_left_to_the_shell() -> None:
    assert shell.answer("/bin/sh -c 'echo ~nobody-of-that-name && sleep 0'") is None


def test_a_directory_is_made_as_the_shell_makes_it(tmp_path: Path) -> None:
    ours, shells = tmp_path / "ours/below", tmp_path / "shells/below"
    answer, told = shell.answer(making(ours)), by_shell(making(shells))
    assert answer is not None
    assert answer[1].decode().replace("ours", "shells") == told[1].decode()
    for one, other in ((ours, shells), *((path / "ansible-tmp-1-2-3" for path in (ours, shells)),)):
        assert stat.S_IMODE(one.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


def test_a_directory_that_is_there_already_is_left_to_the_shell(tmp_path: Path) -> None:
    (tmp_path / "ansible-tmp-1-2-3").mkdir()
    assert shell.answer(making(tmp_path)) is None


def test_making_a_directory_leaves_the_umask_as_before(tmp_path: Path) -> None:
    before = os.umask(0o022)
    shell.answer(making(tmp_path))
    assert os.umask(before) == 0o022


def test_a_directory_is_removed_with_all_below_it(tmp_path: Path) -> None:
    tree = tmp_path / "tree/below"
    tree.mkdir(parents=True)
    (tree / "file").touch()
    assert shell.answer(f"/bin/sh -c 'rm -f -r {tree.parent}/ > /dev/null 2>&1 && sleep 0'") == (0, b"", b"")
    assert not tree.parent.exists()


def test_removing_what_is_not_there_is_no_failure(tmp_path: Path) -> None:
    assert shell.answer(f"/bin/sh -c 'rm -f -r {tmp_path}/none/ > /dev/null 2>&1 && sleep 0'") == (0, b"", b"")


@pytest.mark.parametrize(
    "command",
    [
        "/bin/sh -c 'rm -f -r /tmp/$HOME > /dev/null 2>&1 && sleep 0'",
        "/bin/sh -c 'rm -f -r '\"'\"'/tmp/a b'\"'\"' > /dev/null 2>&1 && sleep 0'",
        "/bin/sh -c 'rm -f -r relative > /dev/null 2>&1 && sleep 0'",
        "/bin/sh -c 'rm -f -r /tmp/x > /dev/null 2>&1; id && sleep 0'",
        "/bin/sh -c 'echo hello && sleep 0'",
        "echo ~",
    ],
)
def test_a_command_that_is_not_known_is_left_to_the_shell(command: str) -> None:
    assert shell.answer(command) is None
