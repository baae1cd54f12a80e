"""requirements.sha256: the checksums of the collections that an operator's image may install."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from runner.validate.content.dependencies import Requirements, with_others
from runner.validate.content.places import Places
from runner.validate.documents import shown
from runner.validate.findings import Finding

FILE = Path("requirements.sha256")


def read_pins(text: str) -> dict[str, str]:
    """The checksum of each collection, from what `sha256sum */*/MANIFEST.json` prints."""
    lines = (line.split() for line in text.splitlines())
    return {".".join(line[1].split("/")[:2]): line[0] for line in lines if len(line) == 2}


def pins_text(pins: Mapping[str, str]) -> str:
    """As `sha256sum` sorts and prints it, since the image's build compares the text."""
    return "".join(f"{pins[name]}  {name.replace('.', '/')}/MANIFEST.json\n" for name in sorted(pins))


def installed(name: str, places: Places) -> dict[str, str]:
    """The checksums of a collection and of those that it needs, as far as they are installed here."""
    found = {each: _checksum(each, places) for each in with_others([name], places)}
    return {each: checksum for each, checksum in found.items() if checksum}


def check(project: Path, requirements: Requirements, places: Places) -> Iterator[Finding]:
    """Warns of each required collection that the image's build would refuse; none of a project without pins."""
    path = project / FILE
    if not path.is_file():
        return
    pins = read_pins(path.read_text(encoding="utf-8", errors="replace"))
    for name, (file, line) in requirements.collections.items():
        if name not in pins:
            what = f"{shown(path)} has no checksum of {name}"
        elif _checksum(name, places) not in ("", pins[name]):
            what = f"{name} as it is installed here has not the checksum of {shown(path)}"
        else:
            continue
        message = f"{what}, without which the image is not built: run `make pins`"
        yield Finding("collection-unpinned", file, line, "collections", message)


def _checksum(name: str, places: Places) -> str:
    """Empty where the collection is not installed here, or is a checkout, which has no manifest."""
    directory = places.collection(name)
    try:
        return hashlib.sha256((directory / "MANIFEST.json").read_bytes()).hexdigest() if directory else ""
    except OSError:
        return ""
