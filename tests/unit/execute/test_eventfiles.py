"""Event files: Ansible's part and ours become one, as ansible-runner leaves them."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from runner.execute.eventfiles import EventFiles


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "job_events"
    made.mkdir()
    return made


def parsed() -> dict[str, Any]:
    return {"uuid": "abc", "counter": 7, "stdout": "text"}


def test_an_event_has_what_ansible_wrote_of_it(directory: Path) -> None:
    (directory / "abc-partial.json").write_text('{"event": "runner_on_ok", "created": "then"}')
    event = parsed()
    EventFiles(directory.parent, "run-1").complete(event)

    assert event == parsed() | {"event": "runner_on_ok", "created": "then", "runner_ident": "run-1"}


def test_output_outside_of_tasks_gets_the_present_time(directory: Path) -> None:
    event = parsed()
    EventFiles(directory.parent, "run-1").complete(event)

    assert event["created"].endswith("+00:00")


def test_a_part_that_is_no_json_is_said(directory: Path) -> None:
    (directory / "abc-partial.json").write_text('{"event": "runn')

    with pytest.raises(ValueError, match="Unterminated"):
        EventFiles(directory.parent, "run-1").complete(parsed())


def test_the_whole_event_takes_the_place_of_the_part(directory: Path) -> None:
    (directory / "abc-partial.json").write_text('{"event": "x"}')
    EventFiles(directory.parent, "run-1").store(parsed())

    (file,) = directory.iterdir()
    assert file.name == "7-abc.json"
    assert json.loads(file.read_text()) == parsed()


def test_an_event_without_a_part_is_stored_privately(directory: Path) -> None:
    EventFiles(directory.parent, "run-1").store(parsed())

    assert stat.S_IMODE((directory / "7-abc.json").stat().st_mode) == 0o600
