"""Whether a bundle's annotations say what it is, and the labels of its image the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from runner.validate.documents import Document, entries, read, shown, text
from runner.validate.findings import Finding

FILE = Path("metadata/annotations.yaml")
_PREFIX = "operators.operatorframework.io."
_FIXED = {
    f"{_PREFIX}bundle.mediatype.v1": "registry+v1",
    f"{_PREFIX}bundle.manifests.v1": "manifests/",
    f"{_PREFIX}bundle.metadata.v1": "metadata/",
}
PACKAGE = f"{_PREFIX}bundle.package.v1"
CHANNELS = f"{_PREFIX}bundle.channels.v1"
DEFAULT_CHANNEL = f"{_PREFIX}bundle.channel.default.v1"
_TESTS = f"{_PREFIX}test.config.v1"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LABEL = re.compile(r"^LABEL[ \t]+(?P<name>[^\s=]+)=(?P<value>.*?)[ \t]*$", re.MULTILINE)
_DOCKERFILE = "bundle.Dockerfile"


def check(directory: Path) -> Iterator[Finding]:
    """What is wrong with metadata/annotations.yaml, and with bundle.Dockerfile beside the bundle."""
    path = directory / FILE
    if not path.is_file():
        message = "is not there: make it with `ansible-operator generate bundle`"
        yield Finding("bundle-layout", shown(path), 1, "", message)
        return
    documents, findings = read(path)
    yield from findings
    for document in documents[:1]:
        yield from _annotations(document, directory)


def _annotations(document: Document, directory: Path) -> Iterator[Finding]:
    nodes = entries(document.get("annotations"))
    given = {name: text(node) for name, node in nodes.items()}

    def finding(name: str, message: str) -> Finding:
        line = nodes[name].line if name in nodes else document.get("annotations").line
        return Finding("bundle-annotations", document.file, line, f"annotations.{name}", message)

    for name, wanted in _FIXED.items():
        if given.get(name) != wanted:
            yield finding(name, f'must be "{wanted}", and is "{given.get(name, "")}"')
    if not _NAME.fullmatch(given.get(PACKAGE, "")):
        yield finding(PACKAGE, f'must be a name in lower case, and is "{given.get(PACKAGE, "")}"')
    channels = [channel.strip() for channel in given.get(CHANNELS, "").split(",") if channel.strip()]
    if not channels:
        yield finding(CHANNELS, "must name a channel, such as alpha")
    elif (default := given.get(DEFAULT_CHANNEL)) and default not in channels:
        yield finding(DEFAULT_CHANNEL, f"{default} is none of the channels {', '.join(channels)}")
    if (place := given.get(_TESTS)) and not (directory / place / "config.yaml").is_file():
        yield finding(_TESTS, f"there is no {place}config.yaml")
    yield from _labels(given, directory.parent / _DOCKERFILE)


def _labels(given: Mapping[str, str], dockerfile: Path) -> Iterator[Finding]:
    """OLM reads the image's labels, and the files: they must not differ."""
    if not dockerfile.is_file():
        return
    content = dockerfile.read_text(encoding="utf-8", errors="replace")
    labels = {found["name"]: (found["value"].strip("\"'"), found.start()) for found in _LABEL.finditer(content)}
    for name, wanted in given.items():
        value, at = labels.get(name, (None, 0))
        if value != wanted:
            message = f'the label must be as in {FILE}: "{wanted}"' + (f', and is "{value}"' if value else "")
            line = content[:at].count("\n") + 1
            yield Finding("bundle-annotations", shown(dockerfile), line, name, message)
