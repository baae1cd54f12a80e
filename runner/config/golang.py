"""What existing manifests spell as Go does: durations, and `$NAME` in the text of watches.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)"  # possessive: a text of any length is read in one go
_PART = rf"{_NUMBER}(?:ns|us|µs|μs|ms|s|m|h)"
_WHOLE = re.compile(rf"[+-]?(?:0|(?:{_PART})++)")
_SPLIT = re.compile(rf"({_NUMBER})(ns|us|µs|μs|ms|s|m|h)")
_BARE = re.compile(rf"[+-]?{_NUMBER}")
_UNKNOWN = re.compile(rf"[+-]?(?:{_PART})*+{_NUMBER}([^0-9.]+)")
LONGEST = (2**63 - 1) / 1e9
"""Seconds: Go counts nanoseconds in 64 bits."""
_SHOWN = 64


_REFERENCE = re.compile(
    r"\$(?:\{(?P<braced>[^}]*)\}|(?P<unclosed>\{)|(?P<name>[*#$@!?\-0-9]|[A-Za-z_]\w*))", re.ASCII
)


def parse_duration(text: str) -> float:
    """Seconds for `1h30m`, `1.5h`, `-5s`, `.5s` or a bare `0`.

    Raises ValueError, with the text Go gives, for anything else: empty, `30`, `1d`, inner spaces, 300 years.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(_go_error(text))
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _SPLIT.findall(text))
    if seconds > LONGEST:
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    return -seconds if text.startswith("-") else seconds


def _go_error(text: str) -> str:
    if _BARE.fullmatch(text):
        return f"time: missing unit in duration {_quoted(text)}"
    unknown = _UNKNOWN.match(text)
    if unknown and unknown[1] not in _SECONDS:
        return f"time: unknown unit {_quoted(unknown[1])} in duration {_quoted(text)}"
    return f"time: invalid duration {_quoted(text)}"


def _quoted(text: str) -> str:
    """In double quotes, what is not printable ASCII as the bytes of UTF-8; a long text shortened."""
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return '"' + "".join(map(_escaped, shown)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if " " <= char <= "~":
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors="surrogatepass"))


def substitute(text: str, environment: Mapping[str, str]) -> str:
    """`text` with every reference to a variable of `environment` replaced by its value."""

    def replacement(match: re.Match[str]) -> str:
        name = match["braced"] or match["name"]
        return environment.get(name, "${" + name + "}") if name else ""

    return _REFERENCE.sub(replacement, text)
