"""Links between pages, and to headings in them, lead somewhere; so do those of the pages at the top."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_every_link_of_a_page_leads_somewhere(path: Path) -> None:
    assert [link for link in links(path) if not leads_somewhere(path, link)] == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, found = set[Path](), {DOCS / "index.md"}
    while found:
        page = found.pop()
        reached.add(page)
        found |= {target for link in links(page) if (target := target_of(page, link)).suffix == ".md"} - reached
    assert [name(page) for page in DOCS.rglob("*.md") if page not in reached] == [], "name it in docs/index.md"


def links(path: Path) -> list[str]:
    """The links of a page that do not leave the repository."""
    found = (token.attrGet("href") or token.attrGet("src") for token in tokens(path))
    return [str(link) for link in found if link and "://" not in str(link) and not str(link).startswith("mailto:")]


def tokens(path: Path) -> Iterator[Token]:
    for token in MarkdownIt().enable("table").parse(path.read_text()):
        yield from token.children or ()


def target_of(path: Path, link: str) -> Path:
    file = link.partition("#")[0]
    return (path.parent / file).resolve() if file else path


def leads_somewhere(path: Path, link: str) -> bool:
    target, anchor = target_of(path, link), link.partition("#")[2]
    return target.exists() and target.is_relative_to(ROOT) and (not anchor or anchor in anchors(target))


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as repositories' pages and the site have them."""
    parsed = MarkdownIt().parse(path.read_text())
    found: set[str] = set()
    for opening, inline in pairwise(parsed):
        if opening.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            number = sum(
                anchor == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", anchor) is not None for anchor in found
            )
            found.add(f"{slug}-{number}" if number else slug)
    return found
