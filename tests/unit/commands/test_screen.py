"""The live table, drawn on terminals of any size."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from runner.commands.screen import NOTICES, Notices, Screen, failures
from runner.control.board import Board, Row, State
from runner.objects import GroupVersionKind, ObjectKey

WEBSITE = GroupVersionKind("example.com", "v1", "Website")
LONG = "a-name-that-is-as-long-as-names-may-be-" * 6
WHY = "no such image (Pull, roles/website/tasks/main.yml:5)"


def key(name: str) -> ObjectKey:
    return ObjectKey(WEBSITE, "default", name)


def board_of(*rows: Row) -> Board:
    board = Board(Path("/project"))
    board._rows = {row.key: row for row in rows}
    return board


def drawn(board: Board, width: int = 120, height: int = 24, notices: Notices | None = None) -> list[str]:
    """The lines of a terminal of that size."""
    screen = Screen(board, notices or Notices(), ["the head"], "nothing yet", {})
    output = io.StringIO()
    Console(file=output, width=width, height=height).print(screen.drawing(width, height))
    return [line.rstrip() for line in output.getvalue().splitlines()]


def test_a_row_is_a_line_with_all_that_is_known_of_a_resource() -> None:
    row = Row(key("blog"), State.SUCCESSFUL, why="saved", took=1.25, last="6 ok, 2 changed")
    assert re.split(r"  +", drawn(board_of(row))[2]) == [
        *("Website", "default/blog", "successful", "1.2 s", "saved", "6 ok, 2 changed")
    ]


def test_without_resources_it_says_what_to_do() -> None:
    assert "nothing yet" in drawn(board_of())


def test_failure_is_told_in_full_below_the_table_once_for_all_that_fail_alike() -> None:
    rows = [Row(key(name), State.FAILING, failure=WHY, last=WHY) for name in "abc"]
    assert drawn(board_of(*rows))[-1] == f"Website default/a and 2 more: {WHY}"
    assert failures(rows) == [(WHY, "Website default/a and 2 more")]


def test_mistake_in_a_file_is_told_below_the_table() -> None:
    board = board_of()
    board.mistakes("watches.yaml", ["watches.yaml:3: [0].role: nowhere"])
    assert drawn(board)[-1] == "watches.yaml:3: [0].role: nowhere"


@pytest.mark.parametrize("width", [1, 5, 20, 39, 59, 80, 99, 120, 300])
def test_no_line_is_wider_than_the_terminal_whatever_the_names(width: int) -> None:
    rows = [
        Row(key(LONG), State.RUNNING, why=LONG, task=f"説明 {LONG}"),
        Row(key("b"), State.FAILING, failure=LONG * 3, last=LONG, took=1e6),
    ]
    assert max(map(cell_len, drawn(board_of(*rows), width))) <= width


def test_narrow_terminal_shows_name_and_state() -> None:
    lines = drawn(board_of(Row(key("blog"), State.SUCCESSFUL, why="saved")), 35)
    assert lines[1].split() == ["NAME", "STATE"]
    assert lines[2].split() == ["default/blog", "successful"]


def test_of_more_resources_than_lines_the_failing_ones_are_shown_and_the_rest_counted() -> None:
    rows = [Row(key(f"good-{number:03}"), State.SUCCESSFUL) for number in range(500)]
    lines = drawn(board_of(*rows, Row(key("bad"), State.FAILING, failure=WHY)))
    assert len(lines) <= 24
    assert any("default/bad" in line for line in lines)
    assert any("of 501 shown: 1 failing, 500 successful" in line for line in lines)


def test_only_the_last_warnings_and_errors_of_the_log_are_shown() -> None:
    notices = Notices()
    notices({"level": "info", "event": "quiet"})
    for number in range(NOTICES + 1):
        notices({"level": "warning", "event": f"warning {number}", "logger": "runner.kube"})
    assert [line.split()[-1] for line in notices.lines] == [str(number + 1) for number in range(NOTICES)]


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        ({"level": "error", "event": "failed", "logger": "runner.runs"}, False),
        ({"level": "info", "event": "Stopping", "waiting_for": ["it"], "said": "waiting"}, True),
        ({"level": "info", "event": "Stopping", "waiting_for": []}, False),
    ],
)
def test_what_the_table_shows_itself_is_no_notice_and_what_an_end_waits_for_is(
    record: dict[str, object], shown: bool
) -> None:
    notices = Notices()
    notices(record)
    assert bool(notices.lines) is shown
