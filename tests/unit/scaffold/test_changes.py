"""What a command writes is written as a whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.errors import SettingsError
from runner.scaffold.changes import changing

MARKED = "mine\n# +ansible-operator:here\n"


def files(project: Path) -> dict[str, str]:
    return {str(path.relative_to(project)): path.read_text() for path in project.rglob("*") if path.is_file()}


def test_what_was_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old").write_text(MARKED)
    with changing(tmp_path) as changes:
        changes.create({Path("new/file"): "new\n"})
        changes.insert(Path("old"), "here", "more")
        changes.insert(Path("old"), "here", "and more")
    assert capsys.readouterr().out == "created  new/file\nchanged  old\n"
    assert files(tmp_path) == {"new/file": "new\n", "old": "mine\nmore\nand more\n# +ansible-operator:here\n"}


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine")
    with pytest.raises(SettingsError, match="b is there already"), changing(tmp_path) as changes:
        changes.create({Path("a"): "", Path("b"): ""})
    assert files(tmp_path) == {"b": "mine"}


def test_a_failure_brings_back_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "old").write_text(MARKED)
    source = tmp_path / "source"
    source.mkdir()
    (source / "x").write_bytes(b"\xff")

    def write() -> None:
        with changing(tmp_path) as changes:
            changes.create({Path("new/deep/file"): "new\n"})
            changes.copy(source, Path("copied/to"))
            changes.insert(Path("old"), "here", "more")
            changes.insert(Path("old"), "there", "more")

    with pytest.raises(SettingsError, match=r"old has no line `# [+]ansible-operator:there`"):
        write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old", "source"]
    assert (tmp_path / "old").read_text() == MARKED


REPLACES_ON_A_FULL_DISK = """
import resource, sys
from pathlib import Path

from runner.errors import SettingsError
from runner.scaffold.changes import changing

resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
try:
    with changing(Path(sys.argv[1])) as changes:
        changes.replace(Path("old"), "a text that is longer than the disk has room for")
except SettingsError as error:
    sys.exit(str(error))
"""
"""The limit is for all files of a process, also for the one that pytest may write its output to."""


def test_a_file_that_cannot_be_written_keeps_what_was_in_it(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("mine, all of it, as long as it is")
    command = [sys.executable, "-c", REPLACES_ON_A_FULL_DISK, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "old cannot be written: File too large\n")
    assert files(tmp_path) == {"old": "mine, all of it, as long as it is"}


def test_what_cannot_be_brought_back_is_told_beside_the_first_error(tmp_path: Path) -> None:
    (tmp_path / "old").write_text(MARKED)

    def write() -> None:
        with changing(tmp_path) as changes:
            changes.insert(Path("old"), "here", "more")
            changes.create({Path("new/file"): "new\n"})
            (tmp_path / "new/another").write_text("of somebody else")
            changes.insert(Path("old"), "there", "more")

    with pytest.raises(SettingsError, match=r"(?s)old has no line .*/new could not be removed: .* not empty"):
        write()
    assert files(tmp_path) == {"old": MARKED, "new/another": "of somebody else"}


def test_a_file_that_is_changed_keeps_its_mode_and_its_place(tmp_path: Path) -> None:
    kept = tmp_path / "elsewhere"
    kept.write_text("mine")
    kept.chmod(0o600)
    (tmp_path / "link").symlink_to(kept)
    with changing(tmp_path) as changes:
        changes.replace(Path("link"), "theirs")
    assert (tmp_path / "link").is_symlink()
    assert (kept.read_text(), kept.stat().st_mode & 0o777) == ("theirs", 0o600)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_that_root_changes_stays_its_owners(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("mine")
    os.chown(tmp_path / "old", 12345, 12345)
    with changing(tmp_path) as changes:
        changes.replace(Path("old"), "theirs")
    assert (tmp_path / "old").stat().st_uid == 12345


def test_a_copy_leaves_a_repository_behind_and_keeps_what_is_executable(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / ".git").mkdir(parents=True)
    (source / ".git/config").write_text("")
    (source / "run").write_text("")
    (source / "run").chmod(0o755)
    with changing(tmp_path) as changes:
        changes.copy(source, Path("copied"))
    assert [path.name for path in (tmp_path / "copied").iterdir()] == ["run"]
    assert (tmp_path / "copied/run").stat().st_mode & 0o100


def test_a_file_that_is_as_it_should_be_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "same").write_text("same")
    with changing(tmp_path) as changes:
        changes.replace(Path("same"), "same")
    assert capsys.readouterr().out == ""
