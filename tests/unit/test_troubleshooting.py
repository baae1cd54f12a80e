"""docs/troubleshooting.md has messages that there are: in the code, or in what Ansible was recorded to say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/troubleshooting.md").read_text()
RECORDED = "".join(path.read_text() for path in (ROOT / "tests/unit/execute/recorded").glob("*.json"))
ANSIBLE = "Ansible's own words"


def messages(*, ansible: bool) -> list[str]:
    """What stands in the first column of the tables."""
    sections = PAGE.split("\n## ")[1:]
    wanted = [text for text in sections if text.startswith(ANSIBLE) == ansible]
    cells = [line.split(" | ")[0] for text in wanted for line in text.splitlines() if line.startswith("| `")]
    return [message for cell in cells for message in re.findall(r"`([^`]+)`", cell)]


def said() -> Iterator[str]:
    """Every text in the code; where it is put together, with … for what differs."""
    for file in (ROOT / "runner").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)


SAID = "\n".join(said())


@pytest.mark.parametrize("message", messages(ansible=False))
def test_a_message_of_the_operator_is_one_that_it_has(message: str) -> None:
    code = re.search(r"refused \((\d+)\)", message)
    parts = [part.strip() for part in message.replace(f"({code[1]})" if code else "", "…").split("…")]
    assert all(part in SAID for part in parts)


@pytest.mark.parametrize("message", messages(ansible=True))
def test_a_message_of_ansible_is_one_that_it_was_recorded_to_give(message: str) -> None:
    assert all(part.strip() in RECORDED for part in message.split("…"))


def test_every_table_is_read() -> None:
    assert len(messages(ansible=False)) > 40
    assert len(messages(ansible=True)) > 10
