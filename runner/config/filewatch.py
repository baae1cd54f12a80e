"""The files below some directories, looked at again and again: for development, where polling costs little.

No notifications of the kernel: they say nothing of network and bind mounts, and need a library.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from pathlib import Path

INTERVAL = 0.5
"""Seconds between two looks; a change is told of once it has rested for as long."""
_LEFT_OUT = ("__pycache__", "node_modules")
_TEMPORARY = ("~", ".swp", ".swx", ".swo", ".pyc", ".partial", ".tmp", "4913")
"""What editors and Python make beside the files."""

Stamp = tuple[int, int, int]
Snapshot = Mapping[Path, Stamp]


def snapshot(roots: Iterable[Path]) -> dict[Path, Stamp]:
    """Time, size and inode of each file; hidden directories and temporary files are left out."""
    found: dict[Path, Stamp] = {}
    for root in roots:
        for path in _files(root):
            try:
                stat = path.stat()
            except OSError:  # just removed, or a link that leads nowhere
                continue
            found[path] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    return found


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    for directory, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith(".") and name not in _LEFT_OUT]
        yield from (Path(directory, name) for name in names if not _is_temporary(name))


def _is_temporary(name: str) -> bool:
    return name.startswith(".") or name.endswith(_TEMPORARY)


def difference(before: Snapshot, after: Snapshot) -> list[Path]:
    """The files that were added, changed or removed, in order."""
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))


async def changes(roots: Callable[[], Iterable[Path]], before: Snapshot) -> AsyncIterator[list[Path]]:
    """The files that changed since `before`, and then since what was told last, for ever. Never empty."""
    while True:
        await asyncio.sleep(INTERVAL)
        after = await asyncio.to_thread(snapshot, roots())
        changed = difference(before, after)
        if not changed:
            continue
        while True:  # an editor or a checkout may be in the middle of it
            await asyncio.sleep(INTERVAL)
            rested = await asyncio.to_thread(snapshot, roots())
            if rested == after:
                break
            after = rested
        yield difference(before, after)
        before = after
