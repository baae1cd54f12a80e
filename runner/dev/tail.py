"""The end of a log, for errors that show why something ended."""

from __future__ import annotations

from pathlib import Path

TAIL_LINES = 15
# Lines of logs are shorter than this on average; a file is not read whole for its end.
LINE_BYTES = 1024


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log; empty where there is none."""
    try:
        with log.open("rb") as opened:
            opened.seek(max(0, log.stat().st_size - lines * LINE_BYTES))
            content = opened.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(content.splitlines()[-lines:])
