"""The components' logs as one stream of lines."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from runner.dev.tail import tail

INTERVAL = 0.2


def read(files: Mapping[str, Path], lines: int, *, follow: bool) -> Iterator[str]:
    """The last `lines` of each file, then, with `follow`, whatever is added, without end.

    With several files each line begins with its component's name.
    """
    width = max(map(len, files)) if len(files) > 1 else 0
    positions = {name: _size(file) for name, file in files.items()}
    for name, file in files.items():
        for line in tail(file, lines).splitlines():
            yield _labelled(name, line, width)
    while follow:
        for name, file in files.items():
            added, positions[name] = added_lines(file, positions[name])
            for line in added:
                yield _labelled(name, line, width)
        time.sleep(INTERVAL)


def added_lines(file: Path, position: int) -> tuple[list[str], int]:
    """The whole lines after byte `position`, and where to go on; a file that began anew is read anew."""
    size = _size(file)
    if size == position:
        return [], position
    start = position if size > position else 0
    with file.open("rb") as opened:
        opened.seek(start)
        content = opened.read()
    whole = content[: content.rfind(b"\n") + 1]
    return whole.decode(errors="replace").splitlines(), start + len(whole)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _labelled(name: str, line: str, width: int) -> str:
    return f"{name:<{width}}  {line}" if width else line
