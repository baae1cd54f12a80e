from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.config import filewatch
from runner.config.filewatch import FileWatch, difference, snapshot


def test_difference_is_what_was_added_changed_or_removed(tmp_path: Path) -> None:
    for name in ("changed", "removed", "same"):
        (tmp_path / name).write_text("before")
    before = snapshot([tmp_path])
    (tmp_path / "changed").write_text("afterwards")
    (tmp_path / "removed").unlink()
    (tmp_path / "added").write_text("new")

    assert difference(before, snapshot([tmp_path])) == [
        tmp_path / name for name in ("added", "changed", "removed")
    ]


@pytest.mark.parametrize("name", [".main.yml.swp", "main.yml~", ".git/index", "__pycache__/a.pyc", "4913"])
def test_what_editors_and_python_leave_is_no_change(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    assert snapshot([tmp_path]) == {}


def test_place_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert snapshot([tmp_path / "none"]) == {}


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("INTERVAL", "REST"):
        monkeypatch.setattr(filewatch, name, 0.01)


async def told(watch: FileWatch) -> list[Path]:
    async with asyncio.timeout(10):
        return await anext(watch.changes())


@pytest.mark.usefixtures("quickly")
async def test_change_is_told_of(tmp_path: Path) -> None:
    watch = FileWatch(lambda: [tmp_path])
    (tmp_path / "a").write_text("1")

    assert await told(watch) == [tmp_path / "a"]


@pytest.mark.usefixtures("quickly")
async def test_what_changes_between_two_watches_is_told_of_by_the_second_and_new_places_are_no_change(
    tmp_path: Path,
) -> None:
    for name in ("both/removed", "both/changed", "new/file"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("before")
    first = FileWatch(lambda: [tmp_path / "both"])
    (tmp_path / "both/removed").unlink()
    (tmp_path / "both/changed").write_text("afterwards")
    (tmp_path / "both/added").write_text("new")

    second = FileWatch(lambda: [tmp_path / "both", tmp_path / "new"], first)

    assert await told(second) == [tmp_path / "both" / name for name in ("added", "changed", "removed")]
