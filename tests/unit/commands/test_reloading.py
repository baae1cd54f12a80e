from __future__ import annotations

from pathlib import Path

from structlog.testing import capture_logs

from runner.commands.reloading import STAYS, Mistakes, unchanged, uses_between
from runner.config.watches import Content, Watch
from runner.control.board import Board
from runner.objects import GroupVersionKind

SITE, CACHE = (GroupVersionKind("example.com", "v1", kind) for kind in ("Site", "Cache"))


def test_role_that_another_watchs_role_includes_is_used_by_it(tmp_path: Path) -> None:
    for name, tasks in (("site", "- ansible.builtin.include_role: {name: cache}\n"), ("cache", "[]\n")):
        (tmp_path / name / "tasks").mkdir(parents=True)
        (tmp_path / name / "tasks/main.yml").write_text(tasks)
    watches = {gvk: Watch(gvk, Content(tmp_path / gvk.kind.lower(), is_role=True)) for gvk in (SITE, CACHE)}

    assert uses_between(watches) == {tmp_path / "site": {tmp_path / "cache"}, tmp_path / "cache": frozenset()}


def test_content_that_is_gone_uses_nothing(tmp_path: Path) -> None:
    assert uses_between({SITE: Watch(SITE, Content(tmp_path / "gone", is_role=True))}) == {
        tmp_path / "gone": frozenset()
    }


def test_mistake_is_logged_once_and_shown_until_whoever_found_it_finds_it_no_more() -> None:
    board = Board(Path())
    mistakes = Mistakes(board)
    with capture_logs() as logs:
        for finder in ("one", "other", "one"):
            mistakes("f", ["f:1: wrong"], by=finder)
        mistakes("f", (), by="one")
        assert board.files == {"f": (f"f:1: wrong; {STAYS}",)}
        mistakes("f", (), by="other")
    assert board.files == {}
    assert [record["event"] for record in logs] == ["a file cannot be used", "mended"]


def test_harmless_mistake_is_a_warning_and_keeps_nothing_from_being_used() -> None:
    board = Board(Path())
    with capture_logs() as logs:
        Mistakes(board).harmless("f", ["f:1: unknown field"])
    assert board.files == {"f": ("f:1: unknown field",)}
    assert [record["log_level"] for record in logs] == ["warning"]


def test_kinds_whose_watch_says_the_same_are_unchanged() -> None:
    before = {gvk: Watch(gvk, Content(Path(gvk.kind), is_role=True)) for gvk in (SITE, CACHE)}
    after = {SITE: before[SITE], CACHE: Watch(CACHE, Content(Path("other"), is_role=True))}
    assert unchanged(before, after) == {SITE}
