"""What is on disk, as plain data: each path below a directory, with its mode and content."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

_LONGEST = 4 * 1024 * 1024
_COMPILED = "__pycache__"  # Python may or may not write it, as its environment says


def tree(directory: Path) -> dict[str, Any]:
    """Path below `directory` -> what is there: `mode`, `owner`, and `text`, `bytes` (a digest) or `link`."""
    return {str(path.relative_to(directory)): _entry(path) for path in sorted(_walk(directory))}


def without_content(files: dict[str, Any], pattern: str) -> dict[str, Any]:
    """The same, but of the files whose path matches only that they are there."""
    contents = ("text", "bytes")
    return {
        path: {key: value for key, value in entry.items() if not fnmatch(path, pattern) or key not in contents}
        for path, entry in files.items()
    }


def _walk(directory: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(directory):
        folders[:] = [name for name in folders if name != _COMPILED]
        yield from (Path(folder, name) for name in (*folders, *files))


def _entry(path: Path) -> dict[str, Any]:
    found = path.lstat()
    entry: dict[str, Any] = {"mode": stat.filemode(found.st_mode), "owner": f"{found.st_uid}:{found.st_gid}"}
    if stat.S_ISLNK(found.st_mode):
        return entry | {"link": str(path.readlink())}
    if not stat.S_ISREG(found.st_mode):
        return entry
    content = path.read_bytes()
    try:
        return entry | {"text": content[:_LONGEST].decode()}
    except UnicodeDecodeError:
        return entry | {"bytes": hashlib.sha256(content).hexdigest()}
