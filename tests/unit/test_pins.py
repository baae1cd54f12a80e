"""The pinned requirements of each line of ansible-core follow those that the tests run with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).parents[2] / "requirements"
# ansible-core, and what 2.18 wants in another version than later lines.
OWN = {"ansible-core", "resolvelib"}


def pins(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z][\w.-]*)==(\S+)", (REQUIREMENTS / name).read_text(), re.MULTILINE))


@pytest.mark.parametrize("line", ["2.18", "2.19", "2.20"])
def test_a_line_pins_that_ansible_core_and_otherwise_what_is_tested(line: str) -> None:
    """If not: `make pins`."""
    here, tested = pins(f"run-{line}.txt"), pins("run.txt")
    assert here["ansible-core"].startswith(f"{line}.")
    assert {name: here.get(name) for name in tested.keys() - OWN} == {
        name: tested[name] for name in tested.keys() - OWN
    }
