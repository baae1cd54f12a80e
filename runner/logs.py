"""Logs that a person reads on a terminal and a machine parses off it.

Every record is one line on stderr: JSON with `level ts logger msg`, as the Go operator writes it, or the same
facts in colour. Records of libraries go the same way.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any, TextIO

import structlog

Record = MutableMapping[str, Any]


_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "panic": logging.CRITICAL,
}


def configure_logs(
    level: str,
    encoder: str,
    stream: TextIO = sys.stderr,
    *,
    stacktrace_level: str = "error",
    time_encoding: str = "",
) -> None:
    """`level` is debug, info, error, panic or a number (1 is debug, more is more); `encoder` json or console.

    A record below `stacktrace_level` names its exception in one line, without a traceback. `time_encoding` is
    one of the Go operator's names, or "" for RFC 3339 with microseconds.
    """
    stamp = _stamping(time_encoding)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            stamp,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_formatter(encoder, stream, stamp, _LEVELS[stacktrace_level]))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for ours in ("runner", "logging_event_handler"):
        logging.getLogger(ours).setLevel(_LEVELS.get(level, logging.DEBUG))


_ENCODINGS: dict[str, Callable[[int], object]] = {
    "epoch": lambda nanos: nanos / 1e9,
    "millis": lambda nanos: nanos / 1e6,
    "nanos": lambda nanos: nanos,
    "iso8601": lambda nanos: _utc(nanos, f".{nanos // 10**6 % 1000:03}"),
    "rfc3339": lambda nanos: _utc(nanos, ""),
    "rfc3339nano": lambda nanos: _utc(nanos, f".{nanos % 10**9:09}"),
    "": lambda nanos: _utc(nanos, f".{nanos // 1000 % 10**6:06}"),
}
"""From Unix time in nanoseconds."""


def _utc(nanos: int, fraction: str) -> str:
    return datetime.fromtimestamp(nanos // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"


def _stamping(encoding: str) -> structlog.typing.Processor:
    encode = _ENCODINGS[encoding]

    def stamp(_logger: object, _method: str, record: Record) -> Record:
        record["ts"] = encode(time.time_ns())
        return record

    return stamp


def _formatter(
    encoder: str, stream: TextIO, stamp: structlog.typing.Processor, traceback_level: int
) -> logging.Formatter:
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        stamp,
    ]
    last: list[structlog.typing.Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        _tracebacks_from(traceback_level),
    ]
    if encoder == "json":
        last += [structlog.processors.format_exc_info, _go_names, structlog.processors.JSONRenderer()]
    else:
        # The default shows the locals of every frame, and tokens may be among them.
        plain = structlog.dev.plain_traceback
        colors = stream.isatty()
        last.append(
            structlog.dev.ConsoleRenderer(
                colors=colors, timestamp_key="ts", pad_event_to=0, exception_formatter=plain
            )
        )
    return structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=last)


def _tracebacks_from(level: int) -> structlog.typing.Processor:
    def cut(_logger: object, _method: str, record: Record) -> Record:
        if _LEVELS.get(record.get("level", ""), logging.CRITICAL) < level and record.get("exc_info"):
            error = record.pop("exc_info")
            value = error[1] if isinstance(error, tuple) else sys.exc_info()[1] if error is True else error
            record.setdefault("error", f"{type(value).__name__}: {value}")
        return record

    return cut


def _go_names(_logger: object, _method: str, record: Record) -> Record:
    """The field names and order of the Go operator's JSON lines."""
    first = {
        "level": record.pop("level", "info"),
        "ts": record.pop("ts", ""),
        "logger": str(record.pop("logger", "")).removeprefix("runner."),
        "msg": record.pop("event", ""),
    }
    if "exception" in record:
        record["stacktrace"] = record.pop("exception")
    return {**first, **record}
