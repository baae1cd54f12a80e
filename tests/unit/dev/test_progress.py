from __future__ import annotations

import io

from runner.dev.progress import MEBIBYTE, lines_on
from tests.fixtures.clock import FakeClock


def test_short_thing_is_one_line_at_its_start_and_one_at_its_end() -> None:
    stream, clock = io.StringIO(), FakeClock()

    with lines_on(stream, clock.time)("building", None) as advance:
        clock.advance(14)
        advance(0)

    assert stream.getvalue() == "building ...\nbuilding: done in 14 s\n"


def test_long_thing_says_now_and_then_that_it_goes_on() -> None:
    stream, clock = io.StringIO(), FakeClock()

    with lines_on(stream, clock.time)("downloading", 4 * MEBIBYTE) as advance:
        for _ in range(4):
            clock.advance(10)
            advance(MEBIBYTE)

    assert stream.getvalue().splitlines()[1:-1] == [
        "downloading: 2 of 4 MiB, 20 s",
        "downloading: 4 of 4 MiB, 40 s",
    ]
