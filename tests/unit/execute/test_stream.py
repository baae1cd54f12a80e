"""Output in pieces, and what `no_log` hides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.execute.censor import censored_stdout
from runner.execute.stream import pieces


@given(st.text(alphabet="a\n") | st.text())
def test_pieces_are_the_text(text: str) -> None:
    assert "".join(pieces(text)) == text


def test_a_piece_has_a_bounded_number_of_lines() -> None:
    assert max(piece.count("\n") for piece in pieces("\n" * 1000)) <= 64


HIDDEN = {"res": {"censored": "the output has been hidden"}}
RESULT = 'fatal: [localhost]: FAILED! => {"censored": "the output has been hidden"}\n...ignoring'


@pytest.mark.parametrize(
    ("stdout", "shown"),
    [
        (f"[ERROR]: Task failed: hunter2\nOrigin: x.yml:1:1\n\n{RESULT}", RESULT),
        (f"[ERROR]: Task failed: hunter2\nfatal: [x\n{RESULT}", RESULT),
        (RESULT, RESULT),
        ("[ERROR]: Task failed: hunter2", ""),
    ],
)
def test_of_a_censored_result_only_the_result_is_shown(stdout: str, shown: str) -> None:
    assert censored_stdout({"stdout": stdout, "event_data": HIDDEN}) == shown


@pytest.mark.parametrize("data", [None, {}, {"res": None}, {"res": {"msg": "x"}}])
def test_other_output_stays(data: object) -> None:
    assert censored_stdout({"stdout": "[ERROR]: Task failed", "event_data": data}) == "[ERROR]: Task failed"
