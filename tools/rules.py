"""Writes the table of rules in docs/validate.md from the code, so that it cannot say anything else."""

from __future__ import annotations

from pathlib import Path

from runner.validate.rules import ALL
from tools.reference import table

PAGE = Path("docs/validate.md")
MARK = "<!-- From here on made from the code by `make reference`. -->\n"


def page(text: str) -> str:
    """The page `text` with its table made anew."""
    rows: list[tuple[str, ...]] = [(f"`{rule.id}`", str(rule.severity), rule.meaning) for rule in ALL]
    return (
        text.partition(MARK)[0]
        + MARK
        + "\n"
        + "\n".join(table(("rule", "severity", "what is wrong"), rows))
        + "\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
