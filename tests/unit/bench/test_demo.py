"""What the README shows of the demo."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.demo import README, RECORDED, WIDTH, excerpt, recorded
from bench.demosteps import STEPS, title
from runner.errors import DevError

ROOT = Path(__file__).parents[3]
SHOWN = "\n".join(
    ["Starting", *(f"{n}. Step\n    $ kubectl {n}\n    ✓ 0.1 s" for n in range(1, 15)), "│ a │", "All came true."]
)


def test_the_readme_has_the_steps_that_the_demo_has() -> None:
    page = (ROOT / README).read_text()
    assert [f"{n}. {title(step)}" in page for n, step in enumerate(STEPS, 1)] == [True] * len(STEPS), (
        "run `make demo RECORD=1`"
    )


def test_a_recording_has_every_title_and_some_steps_as_a_whole() -> None:
    lines = list(excerpt(SHOWN))
    assert [line for line in lines if line.endswith("Step")] == [f"{n}. Step" for n in range(1, 15)]
    assert [line for line in lines if "kubectl" in line] == [f"    $ kubectl {n}" for n in RECORDED]
    assert lines[-1] == "All came true."


def test_a_long_answer_is_cut_and_a_long_command_is_not() -> None:
    long = "long " * 100
    first, *_, typed, answered, _last = excerpt(f"1. a\n2. b\n3. c\n4. d\n    $ {long}\n    {long}\nEnd.")
    assert first == "1. a"
    assert typed == f"    $ {long}"
    assert len(answered) == WIDTH


def test_a_recording_goes_between_the_marks_of_a_page() -> None:
    page = recorded("Before\n<!-- demo -->\nold\n<!-- end of demo -->\nAfter\n", "1. Step\n    x\nEnd.")
    assert page == "Before\n<!-- demo -->\n\n    1. Step\n        …\n    End.\n\n<!-- end of demo -->\nAfter\n"


def test_a_page_without_marks_is_an_error() -> None:
    with pytest.raises(DevError, match="no marks"):
        recorded("nothing", "1. Step")
