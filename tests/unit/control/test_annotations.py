"""What an object's annotations may ask for, and what comes of asking for more."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config.watches import Content, Watch
from runner.control.annotations import ARTIFACTS, MOST_VERBOSE, PERIOD, VERBOSITY, Annotations, Bounds
from runner.control.plan import Defaults, Occasion, Perform, plan
from runner.objects import GroupVersionKind

BOUNDS = Bounds()
WATCH = Watch(GroupVersionKind("fruit.example.com", "v1", "Apple"), Content(Path("/roles/apple"), is_role=True))
QUICK = 1.0
"""Seconds in which anything must be read."""


def asked(name: str, text: str, bounds: Bounds = BOUNDS) -> Annotations:
    return Annotations({"annotations": {name: text}}, bounds)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", 3),
        ("+3", 3),
        ("007", 7),
        ("8", 7),
        ("150000000", 7),
        ("-1", 0),
        ("9" * 20000, 7),
        ("-" + "9" * 20000, 0),
    ],
)
def test_verbosity_is_kept_within_what_ansible_knows(text: str, expected: int) -> None:
    assert asked(VERBOSITY, text).verbosity(2) == expected


@pytest.mark.parametrize(
    "text", ["", "much", "1e3", "0x7", "1_0", " 5", "5\n", "\N{ARABIC-INDIC DIGIT THREE}", "nan", "inf", "3.0"]
)
def test_an_annotation_that_go_takes_for_no_integer_changes_nothing(text: str) -> None:
    annotations = asked(VERBOSITY, text)
    assert annotations.verbosity(2) == 2
    assert len(annotations.warnings) == 1


@pytest.mark.parametrize(
    ("text", "usual", "expected"),
    [
        ("1ns", 3600, 10),
        ("9s", 3600, 10),
        ("10s", 3600, 10),
        ("1h", 3600, 3600),
        ("1ns", 5, 5),
        ("1ns", 0, 10),
        ("0.000001ns", -1, 10),
        ("0", 3600, None),
        ("-1h", 3600, None),
        ("2562047h", 3600, 2562047 * 3600),
    ],
)
def test_a_period_in_an_annotation_is_not_shorter_than_the_bound_or_the_usual_one(
    text: str, usual: float, expected: float | None
) -> None:
    assert asked(PERIOD, text).period(usual) == expected


@pytest.mark.parametrize(
    "text",
    ["9999999h", "9" * 20000 + "h", "nan", "inf", "infs", "1e9h", "\N{ARABIC-INDIC DIGIT ONE}h", "", "1h\n"],
)
def test_an_annotation_that_go_takes_for_no_duration_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"^time: "):
        asked(PERIOD, text).period(3600)


@pytest.mark.parametrize(
    ("text", "usual", "expected"),
    [
        ("5", 20, 5),
        ("100", 20, 100),
        ("101", 20, 100),
        ("0", 20, 100),
        ("-3", 20, 100),
        ("150", 200, 150),
        ("0", -1, 0),
    ],
)
def test_no_more_artifacts_are_kept_than_the_bound_or_the_watch_allows(
    text: str, usual: int, expected: int
) -> None:
    assert asked(ARTIFACTS, text).artifacts(usual) == expected


def test_the_bounds_of_annotations_can_be_lifted() -> None:
    lifted = Bounds(shortest_period=0, most_artifacts=0)
    assert asked(PERIOD, "1ns", lifted).period(3600) == pytest.approx(1e-9)
    assert asked(ARTIFACTS, "0", lifted).artifacts(20) == 0


@pytest.mark.parametrize(
    ("name", "text", "warning"),
    [
        (VERBOSITY, "8", f"annotation {VERBOSITY}: '8' is not in 0 to 7; using 7"),
        (PERIOD, "1ns", f"annotation {PERIOD}: '1ns' is too short; using 10s"),
        (ARTIFACTS, "0", f"annotation {ARTIFACTS}: '0' is more than may be kept; using 100"),
        (ARTIFACTS, "x\x1b[K", f"annotation {ARTIFACTS}: 'x\\x1b[K' is not an integer; using 20"),
    ],
)
def test_an_annotation_that_is_not_taken_as_written_leads_to_a_warning(name: str, text: str, warning: str) -> None:
    step = plan({"metadata": {"annotations": {name: text}}}, WATCH, Defaults(), Occasion(datetime.now(UTC)))
    assert isinstance(step, Perform)
    assert step.warnings == (warning,)


def test_a_warning_about_a_long_annotation_stays_short() -> None:
    annotations = asked(VERBOSITY, "x" * 100_000)
    annotations.verbosity(2)
    assert len(annotations.warnings[0]) < 300


@pytest.mark.parametrize(
    "text",
    [
        "9" * 250_000,
        "1h" * 125_000 + "\n",
        "1h" * 125_000 + "5",
        "1." * 125_000,
        "." * 250_000,
        "9" * 250_000 + "h",
    ],
    ids=["digits", "parts and a line break", "parts and a number", "points", "only points", "a huge number"],
)
@pytest.mark.parametrize("name", [PERIOD, VERBOSITY, ARTIFACTS])
def test_reading_the_longest_annotation_takes_no_time(name: str, text: str) -> None:
    begun = time.process_time()
    plan({"metadata": {"annotations": {name: text}}}, WATCH, Defaults(), Occasion(datetime.now(UTC)))
    assert time.process_time() - begun < QUICK


NUMBERS = st.from_regex(r"[+-]?[0-9]{0,30}[._eE]?[0-9]{0,5}", fullmatch=True)
DURATIONS = st.from_regex(r"[+-]?([0-9]{0,25}\.?[0-9]{0,5}(ns|us|µs|ms|s|m|h|d| ))*", fullmatch=True)
VALUES = st.one_of(st.text(), NUMBERS, DURATIONS, st.none(), st.integers(), st.floats(), st.lists(st.text()))
ODD = st.one_of(st.none(), st.text(), st.lists(VALUES), st.dictionaries(st.text(), VALUES))
MAYBE = st.dictionaries(st.sampled_from([PERIOD, ARTIFACTS, VERBOSITY]), VALUES)


@given(
    annotations=st.one_of(MAYBE, ODD),
    labels=ODD,
    usual=st.tuples(st.floats(-10, 1e6), st.integers(-1, 200)),
    triggers=st.just(frozenset[Any]()),
)
def test_whatever_the_annotations_say_the_plan_is_within_bounds(
    annotations: object, labels: object, usual: tuple[float, int], triggers: frozenset[Any]
) -> None:
    defaults = Defaults(reconcile_period=usual[0])
    watch = Watch(WATCH.gvk, WATCH.content, max_runner_artifacts=usual[1])
    body = {"metadata": {"annotations": annotations, "labels": labels}}
    step = plan(body, watch, defaults, Occasion(datetime.now(UTC), triggers))
    if not isinstance(step, Perform):
        return
    assert step.period is None or min(10, usual[0] if usual[0] > 0 else 10) <= step.period < math.inf
    assert 0 <= step.verbosity <= MOST_VERBOSE
    assert usual[1] < 1 or 1 <= step.max_artifacts <= max(100, usual[1])
