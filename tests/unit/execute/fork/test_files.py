"""Whether files are as they were."""

from __future__ import annotations

import os
from pathlib import Path

from runner.execute.fork.inside.eligible import changed, imported, stat


def test_a_file_that_was_not_touched_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    assert changed([stat(str(path))]) == ""


def test_a_file_that_was_written_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    before = stat(str(path))
    path.write_text("three")
    assert changed([before]) == f"{path} has changed"


def test_a_file_of_equal_size_has_changed_with_its_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    before = stat(str(path))
    path.write_text("two")
    os.utime(path, ns=(1, 1))
    assert changed([before]) == f"{path} has changed"


def test_a_file_that_was_not_there_has_changed_when_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    before = stat(str(path))
    assert changed([before]) == ""
    path.touch()
    assert changed([before]) == f"{path} has changed"


def test_imported_modules_are_known_by_their_files() -> None:
    assert imported("runner")["runner.execute.fork.inside.eligible"][0].endswith("inside/eligible.py")


def test_imported_modules_of_other_packages_are_not_looked_at() -> None:
    assert all(name.partition(".")[0] == "runner" for name in imported("runner"))
