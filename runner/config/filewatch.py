"""The files below some directories, looked at again and again: for development, where polling costs little.

No notifications of the kernel: they say nothing of network and bind mounts, and need a library.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

INTERVAL = 0.2
"""Seconds between two looks."""
REST = 0.1
"""Seconds for which nothing more may have changed before a change is told of."""
_SHARE = 10
"""Looks are so many times as far apart as one takes, so that a large tree costs no more than a tenth of a core."""
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


class FileWatch:
    """What changes below some directories since the last look; `roots` may give others each time."""

    def __init__(self, roots: Callable[[], Collection[Path]], before: FileWatch | None = None) -> None:
        """What has changed since the last look of the one `before` is told of as well."""
        self._roots = roots
        self._looked_at = frozenset(roots())
        self.seen = snapshot(self._looked_at)
        if before is not None:
            new = {path: stamp for path, stamp in self.seen.items() if not before.looks_at(path)}
            self.seen = new | before.seen

    def looks_at(self, path: Path) -> bool:
        """Whether the file is, or would be, below the directories that were looked at last."""
        return any(path.is_relative_to(root) for root in self._looked_at)

    async def changes(self) -> AsyncIterator[list[Path]]:
        """The files that have changed, again and again, for ever. Never empty."""
        took = 0.0
        while True:
            await asyncio.sleep(max(INTERVAL, _SHARE * took))
            began = time.monotonic()
            after = await self._look()
            took = time.monotonic() - began
            if not difference(self.seen, after):
                continue
            while True:  # an editor or a checkout may be in the middle of it
                await asyncio.sleep(REST)
                rested = await self._look()
                if rested == after:
                    break
                after = rested
            changed, self.seen = difference(self.seen, after), after
            if changed:  # what was made and removed again is no change
                yield changed

    async def _look(self) -> dict[Path, Stamp]:
        self._looked_at = frozenset(self._roots())
        return await asyncio.to_thread(snapshot, self._looked_at)
