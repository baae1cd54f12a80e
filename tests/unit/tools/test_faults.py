"""docs/faults.md has every fault, and its tests are there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tools.faults import PAGE, Fault, faults

TESTS = Path(__file__).parents[2]
ROW = "| 1 | a fault | it is done | I1, I2 | {} |"
FOUND = faults(PAGE.read_text())


def test_a_row_is_read() -> None:
    (fault,) = faults(ROW.format("`unit/test_x.py::test_y`, `unit/test_x.py::test_z`; missing: the rest"))

    tests = ("unit/test_x.py::test_y", "unit/test_x.py::test_z")
    assert fault == Fault("a fault", "it is done", ("I1", "I2"), tests, "the rest")


def test_a_row_without_a_test_has_to_say_so() -> None:
    with pytest.raises(ValueError, match="'a fault' has no test and does not say that one is missing"):
        faults(ROW.format("surely"))


def test_the_table_has_no_fault_twice() -> None:
    assert len(FOUND) == len({fault.name for fault in FOUND}) >= 45


@pytest.mark.parametrize("fault", FOUND, ids=lambda fault: fault.name)
def test_the_tests_of_a_fault_are_there(fault: Fault) -> None:
    assert [test for test in fault.tests if test not in defined(test.partition("::")[0])] == []


@pytest.mark.parametrize("fault", FOUND, ids=lambda fault: fault.name)
def test_a_fault_names_invariants_that_the_page_explains(fault: Fault) -> None:
    assert fault.holds
    assert [name for name in fault.holds if f"**{name}**" not in PAGE.read_text()] == []


def test_the_page_counts_what_is_missing() -> None:
    shown = sum(not fault.missing for fault in FOUND)

    assert f"{shown} of {len(FOUND)} are shown" in PAGE.read_text()


@cache
def defined(file: str) -> frozenset[str]:
    names = re.findall(r"^(?:async )?def (test_\w+)", (TESTS / file).read_text(), re.MULTILINE)
    return frozenset(f"{file}::{name}" for name in names)
