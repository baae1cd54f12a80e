"""The table of rules, and that the code and the documentation keep to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runner.validate.rules import ALL, RULES, Rule
from tools import rules

ROOT = Path(__file__).parents[3]
SOURCES = [
    *(ROOT / "runner/validate").rglob("*.py"),
    *(ROOT / "runner/config").glob("*.py"),
    ROOT / "runner/errors.py",
]


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_a_rule_has_an_id_of_words_and_a_line_of_meaning(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", rule.id)
    assert rule.meaning
    assert "\n" not in rule.meaning
    assert not rule.meaning.endswith(".")


def test_no_two_rules_have_the_same_id() -> None:
    assert len(RULES) == len(ALL)


def test_every_rule_is_used_by_the_code() -> None:
    texts = [path.read_text() for path in SOURCES if path.name != "rules.py"]
    assert [rule.id for rule in ALL if not any(f'"{rule.id}"' in text for text in texts)] == []


def test_every_rule_that_the_code_names_is_in_the_table() -> None:
    named = {name for path in SOURCES for name in re.findall(r'Finding\(\s*"([a-z-]+)"', path.read_text())}
    assert named
    assert named - set(RULES) == set()


def test_the_table_of_the_documentation_is_that_of_the_code() -> None:
    text = (ROOT / rules.PAGE).read_text()
    assert rules.page(text) == text, "run `make reference`"
