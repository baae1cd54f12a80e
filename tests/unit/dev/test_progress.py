from __future__ import annotations

import io

from runner.dev.progress import MEBIBYTE, lines_on


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_short_thing_is_one_line_at_its_start_and_one_at_its_end() -> None:
    stream, clock = io.StringIO(), Clock()

    with lines_on(stream, clock)("building", None) as advance:
        clock.now = 14
        advance(0)

    assert stream.getvalue() == "building ...\nbuilding: done in 14 s\n"


def test_long_thing_says_now_and_then_that_it_goes_on() -> None:
    stream, clock = io.StringIO(), Clock()

    with lines_on(stream, clock)("downloading", 4 * MEBIBYTE) as advance:
        for clock.now in (10, 20, 30, 40):
            advance(MEBIBYTE)

    assert stream.getvalue().splitlines()[1:-1] == [
        "downloading: 2 of 4 MiB, 20 s",
        "downloading: 4 of 4 MiB, 40 s",
    ]
