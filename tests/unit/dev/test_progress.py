from __future__ import annotations

import io

from runner.dev.progress import MEBIBYTE, PACKAGES, lines_on
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


def test_packages_of_a_build_are_counted_one_by_one() -> None:
    stream, clock = io.StringIO(), FakeClock()

    with lines_on(stream, clock.time)("building", 2700, PACKAGES) as advance:
        clock.advance(15)
        advance(300)

    assert stream.getvalue().splitlines()[1:-1] == ["building: 300 of 2700 packages, 15 s"]
