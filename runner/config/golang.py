"""What existing manifests spell as Go does: durations, and `$NAME` in the text of watches.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_FACTORS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
_QUANTITY = re.compile(r"([0-9]{1,15})(|Ki|Mi|Gi)")
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([^0-9.]*)")
"""A number and what follows it, up to the next."""
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
    unsigned = text[1:] if text.startswith(("+", "-")) else text
    seconds = 0.0 if unsigned == "0" else sum(_parts(unsigned, text))
    if seconds > LONGEST:
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    return -seconds if text.startswith("-") else seconds


class Bytes(int):
    """A number of bytes, written as Kubernetes does: `768Mi`."""

    def __str__(self) -> str:
        unit = max((unit for unit, factor in _FACTORS.items() if self % factor == 0), key=_FACTORS.__getitem__)
        return f"{int(self) // _FACTORS[unit]}{unit}" if self else "0"


def parse_bytes(text: str) -> Bytes:
    """Read `768Mi`, `1Gi`, `64Ki` or a number of bytes. Raises ValueError for anything else."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a number of bytes: {_quoted(text)}; write one such as 768Mi or 1Gi")
    return Bytes(int(match[1]) * _FACTORS[match[2]])


def _parts(unsigned: str, text: str) -> Iterator[float]:
    """In seconds, each number with its unit. One by one, so that a text of any length is read in one go."""
    at = 0
    while at < len(unsigned) or not unsigned:
        part = _PART.match(unsigned, at)
        if part is None:
            raise ValueError(f"time: invalid duration {_quoted(text)}")
        number, unit = part.groups()
        if not unit:
            raise ValueError(f"time: missing unit in duration {_quoted(text)}")
        if unit not in _SECONDS:
            raise ValueError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
        yield float(number) * _SECONDS[unit]
        at = part.end()


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
