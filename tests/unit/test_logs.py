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


def test_the_console_shows_the_text_first() -> None:
    stream = io.StringIO()
    configure_logs("info", "console", stream)
    structlog.get_logger("runner.x").info("Reconciled", name="a")
    assert "Reconciled" in stream.getvalue()
    assert "name=a" in stream.getvalue()
