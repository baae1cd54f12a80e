"""Durations as the Go operator's flags, watches and annotations spell them."""

from __future__ import annotations

import re

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = r"(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)"
_WHOLE = re.compile(rf"[+-]?(?:0|(?:{_PART})+)")
_SPLIT = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


def parse_duration(text: str) -> float:
    """Seconds for `1h30m`, `1.5h`, `-5s`, `.5s` or a bare `0`.

    Raises ValueError, with the text Go gives, for anything else: empty, `30`, `1d`, inner spaces.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(_go_error(text))
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _SPLIT.findall(text))
    return -seconds if text.startswith("-") else seconds


def _go_error(text: str) -> str:
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    bare = re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)", text)
    if bare:
        return f"time: missing unit in duration {quoted}"
    unknown = re.fullmatch(rf"[+-]?(?:{_PART})*(?:\d+\.?\d*|\.\d+)([^\d.]+).*", text)
    if unknown and unknown[1] not in _SECONDS:
        return f'time: unknown unit "{unknown[1]}" in duration {quoted}'
    return f"time: invalid duration {quoted}"
