"""A page of the documentation as steps: the files that it has its reader write, the commands that it has typed.

The convention is in CONTRIBUTING.md, "Pages whose commands are tested".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

_FILE = re.compile(r"`([^`\s]+)`:$")
_NEEDS = re.compile(r"\*Needs ([^*]+?)[.:]?\*")
_TERMINAL = re.compile(r"\*[Ii]n (?:a|the) (first|second|third) terminal[.:]?\*")
_BEGINS = re.compile(r"\*Begins (in a clone of this repository|with the project of the \[tutorial\])")
_SHELL = re.compile(
    r"^ *(?:\$ |[A-Z_]+=\S* )*(?:ansible(?:-\w+)?|kubectl|export|make|docker|git|pip|python3?|curl|grep|jq|cd) ",
    re.MULTILINE,
)
INTERRUPT = "^C"


@dataclass(frozen=True)
class File:
    """A file that the reader writes."""

    line: int
    path: str
    text: str


@dataclass(frozen=True)
class Command:
    """What is typed, and the lines that the page shows below it.

    `text` is empty where the page only shows what appears in a terminal by now.
    """

    line: int
    text: str
    shown: tuple[str, ...]
    terminal: str = "first"


@dataclass(frozen=True)
class Untested:
    """A block that needs what a test has not."""

    line: int
    needs: str


Step = File | Command | Untested


@dataclass(frozen=True)
class Page:
    """`begins` is where: "empty" directory, "clone" of the repository, or the "tutorial"'s project."""

    begins: str
    steps: tuple[Step, ...]
    problems: tuple[str, ...] = field(default=())


def read_page(text: str) -> Page:
    """The steps of a page, in its order; `problems` names the shell lines that would go untested."""
    steps: list[Step] = []
    problems: list[str] = []
    before = ""
    for token in MarkdownIt().parse(text):
        if token.type == "inline":
            before = token.content
        elif _goes_untested(token):
            problems.append(f"line {_line(token)}: write it as ```console with `$ ` before what is typed")
        elif token.type == "fence":
            steps += _steps(token, before)
    return Page(_begins(text), tuple(steps), tuple(problems))


def _goes_untested(token: Token) -> bool:
    if token.type == "fence" and token.info in ("sh", "bash", "shell"):
        return True
    plain = token.type == "code_block" or (token.type == "fence" and token.info in ("", "text"))
    return plain and _SHELL.search(token.content) is not None


def _begins(text: str) -> str:
    found = _BEGINS.search(text)
    if found is None:
        return "empty"
    return "tutorial" if "tutorial" in found[1] else "clone"


def _line(token: Token) -> int:
    return (token.map or [0])[0] + 1


def _steps(token: Token, before: str) -> Iterator[Step]:
    line = _line(token)
    needs, file = _NEEDS.search(before), _FILE.search(before)
    if needs:
        yield Untested(line, needs[1])
    elif token.info == "console":
        terminal = _TERMINAL.search(before)
        yield from commands(token.content, line + 1, terminal[1] if terminal else "first")
    elif file:
        yield File(line, file[1], token.content)


def commands(block: str, line: int, terminal: str = "first") -> Iterator[Command]:
    """What a block types, each with the output that is shown; `> ` goes on with the line before."""
    typed, shown, begun = "", list[str](), line
    for number, each in enumerate(block.splitlines(), line):
        if each.startswith("> ") and typed and not shown:
            typed += "\n" + each[2:]
        elif each.startswith("$ ") or each == INTERRUPT:
            if typed or shown:
                yield Command(begun, typed, tuple(shown), terminal)
            typed, shown, begun = each.removeprefix("$ "), [], number
        else:
            shown.append(each)
    if typed or shown:
        yield Command(begun, typed, tuple(shown), terminal)


def pattern(shown: tuple[str, ...]) -> str:
    """A regular expression for what is shown: `...` varies, alone in its line it stands for any lines."""
    return "".join(r"(?:.*\n)*?" if line.strip() == "..." else _line_pattern(line) for line in shown)


def _line_pattern(line: str) -> str:
    pieces = (re.sub(r"(?:\\ ){2,}|\t+", r"\\s+", re.escape(piece)) for piece in line.rstrip().split("..."))
    return ".*".join(pieces) + r"[ ]*\n"
