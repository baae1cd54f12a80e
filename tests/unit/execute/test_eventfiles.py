"""Event files: Ansible's part and ours become one, as ansible-runner leaves them."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from runner.execute.artifacts import EventFiles


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "job_events"
    made.mkdir()
    return made


def event() -> dict[str, Any]:
    return {"uuid": "abc", "counter": 7, "stdout": "text"}


def test_the_part_of_an_event_is_what_ansible_wrote(directory: Path) -> None:
    (directory / "abc-partial.json").write_text('{"event": "runner_on_ok", "created": "then"}')

    assert EventFiles(directory.parent).part("abc") == {"event": "runner_on_ok", "created": "then"}


def test_an_event_that_ansible_did_not_write_has_no_part(directory: Path) -> None:
    assert EventFiles(directory.parent).part("abc") is None


def test_a_part_of_an_event_that_is_no_json_is_an_error(directory: Path) -> None:
    (directory / "abc-partial.json").write_text('{"event": "runn')

    with pytest.raises(ValueError, match="Unterminated"):
        EventFiles(directory.parent).part("abc")


def test_the_whole_event_takes_the_place_of_the_part(directory: Path) -> None:
    (directory / "abc-partial.json").write_text('{"event": "x"}')
    EventFiles(directory.parent).store(event())

    (file,) = directory.iterdir()
    assert file.name == "7-abc.json"
    assert json.loads(file.read_text()) == event()


def test_an_event_without_a_part_is_stored_privately(directory: Path) -> None:
    EventFiles(directory.parent).store(event())

    assert stat.S_IMODE((directory / "7-abc.json").stat().st_mode) == 0o600


def test_a_link_in_the_place_of_an_event_is_not_followed(directory: Path, tmp_path: Path) -> None:
    (directory / "abc-partial.json").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"):
        EventFiles(directory.parent).store(event())
    assert not (tmp_path / "elsewhere").exists()
