"""Durations as Go spells them, and bytes as Kubernetes does."""

import pytest

from runner.config.golang import parse_bytes, parse_duration


@pytest.mark.parametrize(
    ("text", "number", "shown"),
    [
        ("768Mi", 768 << 20, "768Mi"),
        ("1Gi", 1 << 30, "1Gi"),
        ("1024Mi", 1 << 30, "1Gi"),
        ("4096", 4096, "4Ki"),
        ("0", 0, "0"),
        ("1000", 1000, "1000"),
    ],
)
def test_number_of_bytes_is_read_and_shown_as_kubernetes_writes_it(text: str, number: int, shown: str) -> None:
    assert (parse_bytes(text), str(parse_bytes(text))) == (number, shown)


@pytest.mark.parametrize("text", ["", "1G", "1.5Gi", "-1", "Mi", "1 Mi", "9" * 99])
def test_text_that_is_no_number_of_bytes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a number of bytes: .*; write one such as 768Mi or 1Gi"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("-5s", -5),
        (".5s", 0.5),
        ("0", 0),
        ("300ms", 0.3),
        ("2us", 2e-6),
        ("87660h", 315576000),
        ("+1.h", 3600),
    ],
)
def test_a_duration_is_read_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("30", 'time: missing unit in duration "30"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1 h", 'time: unknown unit " h" in duration "1 h"'),
        ("h", 'time: invalid duration "h"'),
        ("-", 'time: invalid duration "-"'),
        ("1h.", 'time: invalid duration "1h."'),
        ("1h30", 'time: missing unit in duration "1h30"'),
        ("1..5h", 'time: missing unit in duration "1..5h"'),
        ("1h5d30m", 'time: unknown unit "d" in duration "1h5d30m"'),
    ],
)
def test_a_text_that_is_no_duration_is_refused_with_gos_text(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(") + "$"):
        parse_duration(text)
