"""Logs that a person reads on a terminal and a machine parses off it.

Every record is one line on stderr: JSON with `level ts logger msg`, as the Go operator writes it, or the same
facts in colour. Records of libraries go the same way.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

Record = MutableMapping[str, Any]


def configure_logs(level: str, encoder: str, stream: TextIO = sys.stderr) -> None:
    """`level` is debug, info, error, panic or a number (1 is debug, more is more); `encoder` json or console."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_formatter(encoder, stream))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for ours in ("runner", "logging_event_handler"):
        logging.getLogger(ours).setLevel(_LEVELS.get(level, logging.DEBUG))


_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "error": logging.ERROR, "panic": logging.CRITICAL}


def _formatter(encoder: str, stream: TextIO) -> logging.Formatter:
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
    ]
    last: list[structlog.typing.Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
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
