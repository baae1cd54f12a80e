"""How Sphinx builds the site: `make docs`.

Pages are plain Markdown that reads in the repository, too, so the navigation stands here and not in them.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent

project = "ansible-operator-runner"
project_copyright = "the authors of ansible-operator-runner"

# The root of the repository is the source, so that links out of docs/ are the same here and there.
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**"]
exclude_patterns = [".*", "bench", "build", "config", "crds", "image", "molecule", "playbooks", "requirements"]
exclude_patterns += ["roles", "runner", "samples", "tests", "tools"]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4  # as repositories' pages have them: a link to a heading works in both places

html_theme = "furo"
html_title = "ansible-operator-runner"
html_extra_path = ["site"]
html_copy_source = False
html_show_sourcelink = False

# By purpose; a page that is not there, or a pattern that finds none, is left out.
NAVIGATION = {
    "Tutorial": ["tutorial"],
    "How to": [
        "how-to/develop-with-dev-run",
        "how-to/start-a-project",
        "how-to/run-from-a-laptop",
        "how-to/make-a-crd-from-a-role",
        "how-to/complete-watches-in-an-editor",
        "how-to/react-to-other-objects",
        "how-to/prune",
        "how-to/secrets",
        "how-to/admission",
        "how-to/preview-a-change",
        "how-to/debug-a-failing-run",
        "how-to/read-the-log",
        "how-to/why-did-it-run",
        "how-to/look-at-past-runs",
        "how-to/pause-and-reconcile",
        "how-to/detect-drift",
        "how-to/least-privilege",
        "how-to/rehearse-rbac",
        "how-to/publish-a-bundle",
        "how-to/alerts",
        "how-to/tune-performance",
        "how-to/upgrade-from-the-go-operator",
    ],
    "Reference": [
        "reference",
        "samples",
        "status",
        "troubleshooting",
        "metrics",
        "validate",
        "collection",
        "moving",
        "image",
        "leader-election",
    ],
    "Explanation": ["architecture", "warm", "performance", "faults", "security", "glossary", "decisions/README"],
    "The project": ["/README", "/CONTRIBUTING", "node", "/SECURITY", "/CHANGELOG"],
}
DECISIONS = "decisions/0*"


def toctree(caption: str, pages: list[str]) -> str:
    """The directive that puts pages into the navigation, without a trace in the text; nothing without pages."""
    there = [f"/docs/{page}" if not page.startswith("/") else page for page in pages if exists(page)]
    lines = ["", "```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", "", *there, "```", ""]
    return "\n".join(lines) if there else ""


def exists(page: str) -> bool:
    return page.startswith("/") or any(DOCS.glob(f"{page}.md"))


def add_navigation(_app: Sphinx, page: str, source: list[str]) -> None:
    """Append the navigation to the pages that have one."""
    if page == root_doc:
        source[0] += "".join(toctree(caption, pages) for caption, pages in NAVIGATION.items())
    if page == "docs/decisions/README":
        source[0] += toctree("Decisions", [DECISIONS])


def setup(app: Sphinx) -> None:
    """What Sphinx calls at its start."""
    app.connect("source-read", add_navigation)
