"""Logs that a person reads on a terminal and a machine parses off it.

A record is one line on stderr: JSON with `level ts logger msg`, as the Go operator writes it, or a plain sentence.
Records of libraries, warnings and tracebacks go the same way. A record's field `said` is the sentence for people:
it stands in place of the event and all other fields, and JSON leaves it out.
"""

from __future__ import annotations

import io
import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
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
_RED, _YELLOW, _DIM, _PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[0m"
_LEVEL_COLORS = {"error": _RED, "critical": _RED, "warning": _YELLOW, "debug": _DIM}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def configure_logs(
    level: str,
    encoder: str,
    stream: TextIO | None = None,
    *,
    stacktrace_level: str = "error",
    time_encoding: str = "",
    colors: bool = False,
    notice: Callable[[Record], None] | None = None,
) -> None:
    """`level` is debug, info, error, panic or a number (1 is debug, more is more); `encoder` json or console.

    A record below `stacktrace_level` names its exception in one line, without a traceback. `time_encoding` is
    one of the Go operator's names, or "": RFC 3339 with microseconds, and for people the local time of day.
    `notice` is given every record as well.
    """
    stream = stream or sys.stderr
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _stamping("clock" if encoder == "console" and not time_encoding else time_encoding),
        *([_noticed(notice)] if notice else []),
    ]
    last = [_tracebacks_from(_LEVELS[stacktrace_level]), *_rendering(encoder, colors=colors)]
    structlog.configure(
        processors=[*shared, *last],
        # It drops what is below the level before anything is made of it.
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS.get(level, logging.DEBUG)),
        logger_factory=lambda name="": Writer(name, stream),
        cache_logger_on_first_use=True,
    )
    handler = _Handler(Writer("", stream))
    meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[meta, *last]))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)


class Writer:
    """Writes lines. `name` is that of the logger. A log that cannot be written ends nothing that it tells of."""

    _lock = threading.Lock()

    def __init__(self, name: str, stream: TextIO) -> None:
        self.name = name
        self._stream = stream

    def msg(self, line: str) -> None:
        with self._lock, suppress(OSError, ValueError):
            self._stream.write(line + "\n")
            self._stream.flush()

    debug = info = warning = error = critical = msg


class _Handler(logging.Handler):
    """For records of libraries."""

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._writer.msg(self.format(record))
        except Exception:  # noqa: BLE001  (as logging's own handlers: a library's record must not end its caller)
            self.handleError(record)


_ENCODINGS: dict[str, Callable[[int], object]] = {
    "epoch": lambda nanos: nanos / 1e9,
    "millis": lambda nanos: nanos / 1e6,
    "nanos": lambda nanos: nanos,
    "iso8601": lambda nanos: _utc(nanos, f".{nanos // 10**6 % 1000:03}"),
    "rfc3339": lambda nanos: _utc(nanos, ""),
    "rfc3339nano": lambda nanos: _utc(nanos, f".{nanos % 10**9:09}"),
    "": lambda nanos: _utc(nanos, f".{nanos // 1000 % 10**6:06}"),
    "clock": lambda nanos: time.strftime("%H:%M:%S", time.localtime(nanos // 10**9)),
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


def _noticed(notice: Callable[[Record], None]) -> structlog.typing.Processor:
    def pass_on(_logger: object, _method: str, record: Record) -> Record:
        notice(dict(record))
        return record

    return pass_on


def _rendering(encoder: str, *, colors: bool) -> list[structlog.typing.Processor]:
    # Not the traceback that shows the locals of every frame: tokens may be among them.
    if encoder == "json":
        return [structlog.processors.format_exc_info, _go_names, structlog.processors.JSONRenderer()]
    return [structlog.processors.format_exc_info, lambda _logger, _method, record: sentence(record, colors=colors)]


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
    record.pop("said", None)
    if "exception" in record:
        record["stacktrace"] = record.pop("exception")
    return {**first, **record}


def sentence(record: Record, *, colors: bool = False) -> str:
    """A record for people: `12:03:04 error The sentence. (field=value)`, and below it what has more lines."""
    stamp, level = str(record.pop("ts", "")), str(record.pop("level", "info"))
    said, event, trace = record.pop("said", None), record.pop("event", ""), record.pop("exception", None)
    record.pop("logger", None)
    fields = [] if said else [f"{name}={value}" for name, value in record.items() if value not in ("", None)]
    text = _harmless(str(said or event))
    if fields:
        text += " " + _painted(_DIM, _harmless(f"({', '.join(fields)})"), colors=colors)
    if trace:
        text += "\n" + _harmless(str(trace))
    shown = _painted(_LEVEL_COLORS.get(level, ""), f"{level:<7}", colors=colors)
    return f"{_painted(_DIM, stamp, colors=colors)} {shown} " + text.replace("\n", "\n    ")


def _painted(color: str, text: str, *, colors: bool) -> str:
    return f"{color}{text}{_PLAIN}" if colors and color else text


def _harmless(text: str) -> str:
    """No control character reaches the terminal: names and messages come from custom resources."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def log_everything_else() -> None:
    """Make records also of what is not one: warnings, uncaught exceptions, what a library prints. For good."""
    logging.captureWarnings(capture=True)
    log = structlog.get_logger("runner.process")
    sys.excepthook = lambda *error: log.error("the operator failed", exc_info=error)
    threading.excepthook = lambda failed: log.error(
        "a thread failed", exc_info=(failed.exc_type, failed.exc_value, failed.exc_traceback)
    )
    sys.unraisablehook = lambda failed: log.error(
        failed.err_msg or "an exception could not be raised", exc_info=failed.exc_value
    )
    sys.stdout, sys.stderr = Stray(sys.stdout, log.info), Stray(sys.stderr, log.warning)


@contextmanager
def everything_logged() -> Iterator[None]:
    """The same while this lasts."""
    output, hooks = (sys.stdout, sys.stderr), (sys.excepthook, threading.excepthook, sys.unraisablehook)
    log_everything_else()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = output
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
        logging.captureWarnings(capture=False)


class Stray(io.TextIOBase):
    """In place of stdout or stderr: each line that somebody prints is a record."""

    def __init__(self, before: TextIO, say: Callable[[str], object]) -> None:
        super().__init__()
        self._before = before
        self._say = say
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            if line.strip():
                self._say(line)
        return len(text)

    def fileno(self) -> int:
        return self._before.fileno()

    def writable(self) -> bool:
        return True
