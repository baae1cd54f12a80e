"""One line a record: JSON for machines, readable for people."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from runner.logs import configure_logs


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


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


def test_a_record_for_people_shows_its_text_first() -> None:
    stream = io.StringIO()
    configure_logs("info", "console", stream)
    structlog.get_logger("runner.x").info("Reconciled", name="a")
    assert "Reconciled" in stream.getvalue()
    assert "name=a" in stream.getvalue()


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
