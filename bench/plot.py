"""Draws what `make bench` has measured: `python -m bench.plot build/bench.json > docs/performance.svg`.

Bars and text need no library, and an SVG is read by every viewer of the documentation.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

Measured = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By scenario and contender; see `bench.compare.Figures`."""

_WIDTH, _LEFT, _BARS, _BAR, _GAP, _TOP = 760, 210, 440, 16, 14, 34
_COLOURS = {"ansible-runner run": "#9aa5b1", "cold": "#7b8794", "warm": "#0f8a5f"}
_OTHER = "#c46a1b"


def svg(measured: Measured) -> str:
    """Two charts, one above the other: what a reconcile takes, and how soon a new resource is Successful."""
    parts: list[str] = []
    height = 0
    for title, of in (("CPU-seconds of a reconcile", _cpu), ("seconds until Successful, median", _latency)):
        drawn = list(_chart(title, {name: of(found) for name, found in measured.items()}, height))
        height = int(drawn.pop())
        parts += drawn
    style = "text{font:13px sans-serif;fill:#323f4b}.title{font-weight:bold;font-size:15px}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}">'
    background = f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, f"<style>{style}</style>", background, *parts, "</svg>", ""])


def _cpu(found: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    return {name: float(figures["cpu"]) for name, figures in found.items()}


def _latency(found: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    return {name: statistics.median(of["latencies"]) for name, of in found.items() if of.get("latencies")}


def _chart(title: str, values: Mapping[str, Mapping[str, float]], top: int) -> Iterator[str]:
    """The chart's elements, and last of all where the next one may begin."""
    longest = max(value for bars in values.values() for value in bars.values())
    y = top + _TOP
    yield f'<text class="title" x="16" y="{y - 10}">{escape(title)}</text>'
    for scenario, bars in values.items():
        yield f'<text x="16" y="{y + _BAR - 3}">{escape(scenario)}</text>'
        for name, value in sorted(bars.items(), key=lambda bar: -bar[1]):
            width = max(1.0, _BARS * value / longest)
            size, colour = f'width="{width:.1f}" height="{_BAR - 2}"', _COLOURS.get(name, _OTHER)
            yield f'<rect x="{_LEFT}" y="{y}" {size} fill="{colour}"/>'
            yield f'<text x="{_LEFT + width + 6:.1f}" y="{y + _BAR - 4}">{value:.2f} {escape(name)}</text>'
            y += _BAR
        y += _GAP
    yield str(y)


def main() -> int:
    """Print the plot of the file that is named; returns the exit code."""
    sys.stdout.write(svg(json.loads(Path(sys.argv[1]).read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
