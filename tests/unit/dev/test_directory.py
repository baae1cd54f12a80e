from __future__ import annotations

from pathlib import Path

import pytest

from runner.dev import directory
from runner.dev.components import AuditLevel, Options
from runner.dev.directory import State
from runner.dev.layout import Ports


@pytest.mark.parametrize("audit", [None, AuditLevel.REQUEST])
def test_state_is_read_as_it_was_written(tmp_path: Path, audit: AuditLevel | None) -> None:
    written = State(Ports(1, 2, 3, host="10.1.1.1"), Options(True, audit, "10.1.1.1"), ready=True)

    directory.write_state(tmp_path / "state", written)

    assert directory.read_state(tmp_path / "state") == written


def test_there_is_no_state_before_the_first_start(tmp_path: Path) -> None:
    assert directory.read_state(tmp_path / "state") is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"ports": {}}', '{"ready": true}'])
def test_state_that_makes_no_sense_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "state").write_text(content)

    assert directory.read_state(tmp_path / "state") is None
