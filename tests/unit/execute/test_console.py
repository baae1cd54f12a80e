"""What the console shows of each event, by level."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from runner.config.watches import Content
from runner.execute.console import Block, Console, LogEvents, Record, log_events, render, render_exit
from runner.execute.run import Event, Run
from runner.objects import GroupVersionKind, ObjectKey

KEY = ObjectKey(GroupVersionKind("cache.example.com", "v1", "Memcached"), "ns", "one")
RUN = Run("123", KEY, "uid", Content(Path("/roles/web"), is_role=True), {}, "")
DASHES = "\n-------------------------------------------------------------------------------\n"
OPENING = "\n--------------------------- Ansible Task StdOut -------------------------------\n"


def event(kind: str, action: str = "command", stdout: str = "out", **data: Any) -> Event:
    return {"event": kind, "stdout": stdout, "event_data": {"task": "web : do", "task_action": action} | data}


def titled(text: str = "out") -> Block:
    return Block(f"{OPENING}\n TASK [web : do] ******************************** \n{text}\n{DASHES}")


STARTED = event("playbook_on_task_start", name="web : do")
RECAP: Event = {"event": "playbook_on_stats", "stdout": "PLAY RECAP", "event_data": {}}
TITLE = "Ansible Task Status Event StdOut (cache.example.com/v1, Kind=Memcached, one/ns)"
RECAP_BLOCK = Block(f"\n----- {TITLE} -----\n\nPLAY RECAP\n\n----------\n")


@pytest.mark.parametrize(
    ("shown", "items"),
    [
        (
            STARTED,
            [
                Record("info", "[playbook task start]", {"EventData.Name": "web : do"}),
                Block(f"{OPENING}out\n{DASHES}"),
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
    assert render(shown, RUN, LogEvents.TASKS) == items


def test_the_level_tasks_with_verbosity_shows_the_output_as_it_is() -> None:
    assert render(event("runner_on_ok"), RUN, LogEvents.TASKS, verbosity=1) == [Block("out\n")]


def test_the_level_everything_shows_each_event_with_its_data() -> None:
    shown = event("runner_on_ok")

    assert render(shown, RUN, LogEvents.EVERYTHING) == [
        Record("info", "[ansible event]", {"EventData": shown["event_data"]}),
        titled(),
    ]


@pytest.mark.parametrize("shown", [STARTED, event("runner_on_failed"), event("runner_on_ok", "debug")])
def test_the_level_nothing_shows_no_task(shown: Event) -> None:
    assert render(shown, RUN, LogEvents.NOTHING, verbosity=4) == []


def test_the_level_nothing_still_shows_the_recap() -> None:
    assert render(RECAP, RUN, LogEvents.NOTHING) == [RECAP_BLOCK]


def test_a_good_exit_is_said_in_the_words_that_are_searched_for() -> None:
    assert render_exit(RUN, 0, "all", debug=False) == [Record("info", "Ansible-runner exited successfully")]


def test_a_bad_exit_shows_the_output() -> None:
    assert render_exit(RUN, 2, "all", debug=False) == [Record("error", "all", {"rc": 2})]


def test_a_bad_exit_shows_only_the_end_of_megabytes() -> None:
    (shown,) = render_exit(RUN, 2, "x" * 10_000_000 + "end", debug=False)

    assert isinstance(shown, Record)
    assert shown.event.endswith("end")
    assert len(shown.event) < 100_000


def test_debug_logs_show_the_whole_output() -> None:
    block, _ = render_exit(RUN, 0, "all of it", debug=True)

    assert isinstance(block, Block)
    assert "Ansible Debug Result (cache.example.com/v1, Kind=Memcached, one/ns)" in block.text
    assert "all of it" in block.text


def test_the_console_writes_blocks_and_logs_records_with_whose_they_are() -> None:
    written: list[str] = []

    with capture_logs() as logs:
        Console(write=written.append)(RUN, STARTED)

    assert written == [f"{OPENING}out\n{DASHES}"]
    assert logs == [
        {
            "log_level": "info",
            "event": "[playbook task start]",
            "job": "123",
            "name": "one",
            "namespace": "ns",
            "gvk": "cache.example.com/v1, Kind=Memcached",
            "event_type": "playbook_on_task_start",
            "EventData.Name": "web : do",
        }
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
    (shown,) = render(event("runner_item_on_ok", task="\x1b[2Jgone"), RUN, LogEvents.TASKS)

    assert isinstance(shown, Block)
    assert "\\x1b[2Jgone" in shown.text
