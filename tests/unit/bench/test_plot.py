"""The plot of what was measured."""

from __future__ import annotations

from xml.etree import ElementTree

from bench.plot import Measured, svg

MEASURED: Measured = {
    "1 task": {
        "cold": {"cpu": 1.2, "latencies": [1.0, 2.0, 3.0]},
        "warm": {"cpu": 0.1, "latencies": [0.1, 0.2, 0.3]},
        "ansible-runner run": {"cpu": 1.3},
    },
    "a & b": {"cold": {"cpu": 2.4, "latencies": [4.0]}, "warm": {"cpu": 0.2, "latencies": [0.4]}},
}
NAME = "{http://www.w3.org/2000/svg}"


def bars() -> list[tuple[float, str]]:
    """Width and label of every bar."""
    drawn = ElementTree.fromstring(svg(MEASURED))
    widths = [float(bar.attrib["width"]) for bar in drawn.iter(f"{NAME}rect") if "x" in bar.attrib]
    labels = [
        str(text.text) for text in drawn.iter(f"{NAME}text") if str(text.text)[0].isdigit() and "x" in text.attrib
    ]
    return list(zip(widths, [label for label in labels if label.split()[1] != "task"], strict=True))


def test_the_plot_has_a_bar_for_all_that_was_measured() -> None:
    assert sorted(label for _, label in bars()) == [
        "0.10 warm",
        "0.20 warm",
        "0.20 warm",
        "0.40 warm",
        "1.20 cold",
        "1.30 ansible-runner run",
        "2.00 cold",
        "2.40 cold",
        "4.00 cold",
    ]


def test_bars_are_as_long_as_what_they_stand_for() -> None:
    width = {label: width for width, label in bars()}
    assert abs(width["2.40 cold"] / width["1.20 cold"] - 2) < 0.01
