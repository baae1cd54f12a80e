"""One line a record: JSON for machines, readable for people."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from argparse import Namespace

import pytest
import structlog

from runner.config.settings import read_settings
from runner.logs import configure_logs, everything_logged, sentence


def test_a_json_record_has_the_fields_of_the_go_operator_first() -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    structlog.get_logger("runner.manager").info("Starting", kind="Memcached")
    record = json.loads(stream.getvalue())
    assert list(record)[:4] == ["level", "ts", "logger", "msg"]
    assert (record["logger"], record["msg"], record["kind"]) == ("manager", "Starting", "Memcached")


def test_a_record_of_a_library_goes_the_same_way() -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    logging.getLogger("aiohttp.access").warning("slow %s", "request")
    assert json.loads(stream.getvalue())["msg"] == "slow request"


def test_an_exception_is_part_of_its_record() -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    try:
        int("boom")
    except ValueError:
        structlog.get_logger("runner.x").exception("failed")
    assert "boom" in json.loads(stream.getvalue())["stacktrace"]


@pytest.mark.parametrize("encoder", ["json", "console"])
def test_a_traceback_does_not_show_what_variables_hold(encoder: str) -> None:
    stream = io.StringIO()
    configure_logs("info", encoder, stream)
    hidden = "t0k" + "en"  # in two pieces, so that no source line shows it whole
    try:
        int(f"not a number, {len(hidden)}")
    except ValueError:
        structlog.get_logger("runner.x").exception("failed")
    assert "ValueError" in stream.getvalue()
    assert hidden not in stream.getvalue()


def test_records_below_the_level_are_dropped() -> None:
    stream = io.StringIO()
    configure_logs("error", "json", stream)
    structlog.get_logger("runner.x").info("quiet")
    assert stream.getvalue() == ""


def test_a_record_for_people_is_a_line_with_its_fields_last() -> None:
    record = {"ts": "12:03:04", "level": "warning", "logger": "runner.x", "event": "It waits.", "name": "a"}
    assert sentence(record) == "12:03:04 warning It waits. (name=a)"


def test_the_sentence_for_people_stands_in_place_of_all_fields() -> None:
    record = {"ts": "12:03:04", "level": "info", "event": "Ready", "kinds": 2, "said": "Ready: 2 kinds."}
    assert sentence(record) == "12:03:04 info    Ready: 2 kinds."


def test_json_has_the_fields_in_place_of_the_sentence() -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    structlog.get_logger("runner.x").info("Ready", kinds=2, said="Ready: 2 kinds.")
    record = json.loads(stream.getvalue())
    assert (record["msg"], record["kinds"], "said" in record) == ("Ready", 2, False)


def test_a_record_cannot_steer_a_terminal() -> None:
    assert "\\x1b[2J" in sentence({"event": "\x1b[2Jgone", "name": "\x1b[2J"})
    assert "\x1b" not in sentence({"event": "\x1b[2Jgone", "name": "\x1b[2J"})


def test_only_the_level_of_what_is_wrong_is_coloured_and_what_is_beside_it_dim() -> None:
    record = {"ts": "12:03:04", "level": "error", "event": "It failed."}
    assert sentence(record, colors=True) == "\x1b[2m12:03:04\x1b[0m \x1b[31merror  \x1b[0m It failed."


@pytest.mark.parametrize(
    ("terminal", "environment", "colors"),
    [(True, {}, True), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False), (False, {}, False)],
)
def test_colours_are_for_terminals_whose_user_wants_them(
    terminal: bool, environment: dict[str, str], colors: bool
) -> None:
    assert read_settings(Namespace(), environment, terminal=terminal).log_colors is colors


def test_a_log_that_cannot_be_written_ends_nothing() -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    stream.close()
    structlog.get_logger("runner.x").info("unheard")


EVERYTHING_ELSE = """
import asyncio, gc, logging, sys, threading, warnings
from runner.logs import configure_logs, log_everything_else

configure_logs("info", "json")
log_everything_else()
print("on stdout")
print("on\\nstderr", file=sys.stderr)
warnings.warn("a warning")
logging.getLogger("kopf").error("of kopf")
logging.getLogger("aiohttp.server").error("of aiohttp", exc_info=ValueError("inside"))

async def leave_an_exception():
    async def fail():
        raise ValueError("nobody asks")
    task = asyncio.create_task(fail())
    await asyncio.sleep(0)
    del task
    gc.collect()

asyncio.run(leave_an_exception())
thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()

class Left:
    def __del__(self):
        raise ValueError("too late")

Left()
raise RuntimeError("the end")
"""


def test_whatever_else_a_process_says_is_json_too() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", EVERYTHING_ELSE], capture_output=True, text=True, timeout=60, check=False
    )
    records = [json.loads(line) for line in (ended.stdout + ended.stderr).splitlines()]
    said = "\n".join(f"{record['msg']} {record.get('stacktrace', '')}" for record in records)
    for part in ("on stdout", "on", "stderr", "a warning", "of kopf", "inside", "nobody asks", "too late"):
        assert part in said
    assert "ZeroDivisionError" in said
    assert "RuntimeError: the end" in said
    assert ended.returncode == 1


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("", "2023-11-14T22:13:20.012345Z"),
        ("rfc3339", "2023-11-14T22:13:20Z"),
        ("rfc3339nano", "2023-11-14T22:13:20.012345678Z"),
        ("iso8601", "2023-11-14T22:13:20.012Z"),
        ("epoch", 1700000000.0123456),
        ("millis", 1700000000012.3457),
        ("nanos", 1700000000012345678),
    ],
)
def test_times_of_records_are_written_as_asked(
    encoding: str, shown: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.logs.time.time_ns", lambda: 1_700_000_000_012_345_678)
    stream = io.StringIO()
    configure_logs("info", "json", stream, time_encoding=encoding)
    structlog.get_logger("runner.x").info("now")
    assert json.loads(stream.getvalue())["ts"] == shown


@pytest.mark.parametrize(
    ("level", "traced"), [("info", {"warning", "error"}), ("error", {"error"}), ("panic", set())]
)
def test_tracebacks_begin_at_their_level_and_below_it_the_error_is_named(level: str, traced: set[str]) -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream, stacktrace_level=level)
    logger = structlog.get_logger("runner.x")
    try:
        int("boom")
    except ValueError:
        logger.warning("warning", exc_info=True)
        logger.exception("error")
    records = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert {record["msg"] for record in records if "stacktrace" in record} == traced
    assert all("boom" in record["error"] for record in records if "stacktrace" not in record)


def test_whoever_wants_to_notice_records_is_given_each() -> None:
    stream, seen = io.StringIO(), list[str]()
    configure_logs(
        "info", "console", stream, notice=lambda record: seen.append(f"{record['level']} {record.pop('event')}")
    )
    structlog.get_logger("any").warning("look")
    assert seen == ["warning look"]
    assert "look" in stream.getvalue()


def test_what_is_printed_while_everything_is_logged_is_in_the_log_and_afterwards_not() -> None:
    stream, before = io.StringIO(), sys.stdout
    configure_logs("info", "console", stream)
    with everything_logged():
        print("stray")
    assert "stray" in stream.getvalue()
    assert sys.stdout is before
