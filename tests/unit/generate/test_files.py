"""`ansible-operator generate` writes files and says which; with `--check` it only compares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.cli import main


def test_what_was_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "schema", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "watches.schema.json\n"
    assert json.loads((tmp_path / "watches.schema.json").read_text())["title"]


def test_a_check_writes_nothing_and_fails_with_a_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "schema", str(tmp_path), "--check"]) == 1
    assert "+++ watches.schema.json (generated)" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_check_of_what_was_generated_succeeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["generate", "schema", str(tmp_path)])
    capsys.readouterr()
    assert main(["generate", "schema", str(tmp_path), "--check"]) == 0
    assert capsys.readouterr().out == ""


def test_a_check_shows_what_was_changed_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["generate", "schema", str(tmp_path)])
    file = tmp_path / "watches.schema.json"
    file.write_text(file.read_text().replace("watches.yaml of an Ansible operator", "mine"))
    capsys.readouterr()
    assert main(["generate", "schema", str(tmp_path), "--check"]) == 1
    assert '-  "title": "mine",\n' in capsys.readouterr().out


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "watches.schema.json").mkdir()
    assert main(["generate", "schema", str(tmp_path)]) == 1
    assert "watches.schema.json cannot be written" in capsys.readouterr().err


def test_a_directory_that_is_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "schema", "/nowhere"]) == 1
    assert "/nowhere is not a directory" in capsys.readouterr().err
