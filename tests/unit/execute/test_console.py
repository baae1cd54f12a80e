"""What the console shows of each event, by level."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from runner.config.watches import Content
from runner.execute.console import (
    Block,
    Console,
    LogEvents,
    Record,
    as_record,
    as_text,
    log_events,
    render,
    render_exit,
)
from runner.execute.run import Event, Run
from runner.objects import GroupVersionKind, ObjectKey

KEY = ObjectKey(GroupVersionKind("cache.example.com", "v1", "Memcached"), "ns", "one")
RUN = Run("123", KEY, "uid", Content(Path("/roles/web"), is_role=True), {}, "")
DASHES = "\n-------------------------------------------------------------------------------\n"
OPENING = "\n--------------------------- Ansible Task StdOut -------------------------------\n"


def event(kind: str, action: str = "command", stdout: str = "out", **data: Any) -> Event:
    return {"event": kind, "stdout": stdout, "event_data": {"task": "web : do", "task_action": action} | data}


def titled(text: str = "out") -> Block:
    return Block(text, "Ansible Task StdOut", "web : do")


STARTED = event("playbook_on_task_start", name="web : do")
RECAP: Event = {"event": "playbook_on_stats", "stdout": "PLAY RECAP", "event_data": {}}
TITLE = "Ansible Task Status Event StdOut (cache.example.com/v1, Kind=Memcached, one/ns)"
RECAP_BLOCK = Block("PLAY RECAP", "Ansible Task Status Event StdOut")
START_BLOCK = Block("out", "Ansible Task StdOut")


@pytest.mark.parametrize(
    ("shown", "items"),
    [
        (
            STARTED,
            [
                Record("info", "[playbook task start]", {"EventData.Name": "web : do"}),
                START_BLOCK,
            ],
        ),
        (event("playbook_on_task_start", "debug"), []),
        (event("playbook_on_task_start", "set_fact"), []),
        (
            event("runner_on_ok", "debug", task_args="msg=hi"),
            [Record("info", "[playbook debug]", {"EventData.TaskArgs": "msg=hi"}), titled()],
        ),
        (event("runner_on_ok"), []),
        (event("runner_item_on_ok"), [titled()]),
        (event("runner_item_on_ok", stdout=""), []),
        (
            event("runner_on_failed", task_args="a=1", task_path="/x.yml:1"),
            [
                Record(
                    "error",
                    "[playbook task failed]",
                    {
                        "EventData.Task": "web : do",
                        "EventData.TaskArgs": "a=1",
                        "EventData.FailedTaskPath": "/x.yml:1",
                    },
                ),
                titled(),
            ],
        ),
        ({"event": "verbose", "stdout": "noise"}, []),
        (RECAP, [RECAP_BLOCK]),
    ],
)
def test_the_level_tasks_shows_their_start_their_failure_and_debug(
    shown: Event, items: list[Block | Record]
) -> None:
    assert render(shown, LogEvents.TASKS) == items


def test_the_level_tasks_with_verbosity_shows_the_output_as_it_is() -> None:
    assert render(event("runner_on_ok"), LogEvents.TASKS, verbosity=1) == [Block("out")]


def test_the_level_everything_shows_each_event_with_its_data() -> None:
    shown = event("runner_on_ok")

    assert render(shown, LogEvents.EVERYTHING) == [
        Record("info", "[ansible event]", {"EventData": shown["event_data"]}),
        titled(),
    ]


@pytest.mark.parametrize("shown", [STARTED, event("runner_on_failed"), event("runner_on_ok", "debug")])
def test_the_level_nothing_shows_no_task(shown: Event) -> None:
    assert render(shown, LogEvents.NOTHING, verbosity=4) == []


def test_the_level_nothing_still_shows_the_recap() -> None:
    assert render(RECAP, LogEvents.NOTHING) == [RECAP_BLOCK]


def test_a_good_exit_is_said_in_the_words_that_are_searched_for() -> None:
    assert render_exit(0, "all", debug=False) == [Record("info", "Ansible-runner exited successfully")]


def test_a_bad_exit_shows_the_output() -> None:
    assert render_exit(2, "all", debug=False) == [Record("error", "all", {"rc": 2})]


def test_a_bad_exit_shows_only_the_end_of_megabytes() -> None:
    (shown,) = render_exit(2, "x" * 10_000_000 + "end", debug=False)

    assert isinstance(shown, Record)
    assert shown.event.endswith("end")
    assert len(shown.event) < 100_000


def test_debug_logs_show_the_whole_output() -> None:
    block, _ = render_exit(0, "all of it", debug=True)

    assert block == Block("all of it", "Ansible Debug Result")


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (START_BLOCK, f"{OPENING}out\n{DASHES}"),
        (titled(), f"{OPENING}\n TASK [web : do] ******************************** \nout\n{DASHES}"),
        (RECAP_BLOCK, f"\n----- {TITLE} -----\n\nPLAY RECAP\n\n----------\n"),
        (Block("out"), "out\n"),
    ],
)
def test_a_block_as_text_is_the_go_operators(block: Block, text: str) -> None:
    assert as_text(block, RUN) == text


@pytest.mark.parametrize(
    ("block", "record"),
    [
        (titled(), Record("info", "Ansible Task StdOut", {"EventData.Task": "web : do", "stdout": "out"})),
        (RECAP_BLOCK, Record("info", "Ansible Task Status Event StdOut", {"stdout": "PLAY RECAP"})),
        (Block("\x1b[0;32mok\x1b[0m"), Record("info", "Ansible output", {"stdout": "ok"})),
    ],
)
def test_a_block_as_a_record_has_its_text_in_a_field_without_colours(block: Block, record: Record) -> None:
    assert as_record(block) == record


@pytest.mark.parametrize("shown", [STARTED, RECAP, event("runner_on_failed"), event("runner_on_ok", "debug")])
def test_on_a_terminal_no_event_is_shown_that_nobody_asked_for(shown: Event) -> None:
    assert render(shown, LogEvents.TASKS, terminal=True) == []


def test_on_a_terminal_the_output_of_tasks_is_shown_to_whoever_asks_for_it() -> None:
    assert render(event("runner_on_ok"), LogEvents.TASKS, 1, terminal=True) == [Block("out")]


def test_on_a_terminal_every_event_is_shown_to_whoever_asks_for_it() -> None:
    assert render(STARTED, LogEvents.EVERYTHING, terminal=True) == render(STARTED, LogEvents.EVERYTHING)


def test_on_a_terminal_the_end_of_a_run_is_for_others_to_tell() -> None:
    assert render_exit(2, "all", debug=False, terminal=True) == []


def test_on_a_terminal_blocks_are_text() -> None:
    written: list[str] = []

    Console(LogEvents.EVERYTHING, terminal=True, write=written.append)(RUN, STARTED)

    assert written == [f"{OPENING}out\n{DASHES}"]


def test_elsewhere_records_and_blocks_say_whose_they_are() -> None:
    with capture_logs() as logs:
        Console()(RUN, STARTED)

    whose = {
        "job": "123",
        "name": "one",
        "namespace": "ns",
        "gvk": "cache.example.com/v1, Kind=Memcached",
        "event_type": "playbook_on_task_start",
    }
    assert logs == [
        {"log_level": "info", "event": "[playbook task start]", "EventData.Name": "web : do", **whose},
        {"log_level": "info", "event": "Ansible Task StdOut", "stdout": "out", **whose},
    ]


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("", LogEvents.TASKS),
        ("Tasks", LogEvents.TASKS),
        ("EVERYTHING", LogEvents.EVERYTHING),
        ("nothing", LogEvents.NOTHING),
        ("all", None),
    ],
)
def test_the_level_is_named_in_any_case(text: str, level: LogEvents | None) -> None:
    assert log_events(text) is level


def test_of_a_failed_run_only_the_end_of_its_output_is_read(tmp_path: Path) -> None:
    stdout = tmp_path / "stdout"
    with stdout.open("wb") as file:
        file.seek(256 * 2**20)
        file.write("ünd".encode())
    tracemalloc.start()
    try:
        Console().exited(RUN, 2, stdout)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 8 * 2**20


def test_a_name_of_a_task_cannot_steer_a_terminal() -> None:
    (shown,) = render(event("runner_item_on_ok", task="\x1b[2Jgone"), LogEvents.TASKS)

    assert isinstance(shown, Block)
    assert "\\x1b[2Jgone" in shown.task
