"""Whether files are as they were when they were read, and what new ones may be."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.machinery import PathFinder

Stat = tuple[str, int, int]
"""A file's path, modification time in ns, and size in bytes, -1 if there is none. JSON makes a list of it."""


def stat(path: str) -> Stat:
    """What a file is like now."""
    try:
        status = os.stat(path)
    except OSError:
        return path, 0, -1
    return path, status.st_mtime_ns, status.st_size


def changed(known: Iterable[Stat]) -> str:
    """Which of these files is no longer as it was, else an empty string."""
    for path, modified, size in known:
        if stat(path) != (path, modified, size):
            return f"{path} has changed"
    return ""


def umask() -> int:
    """What new files of this process are not permitted; asked without setting it, as threads would notice."""
    with suppress(OSError), open("/proc/self/status", "rb") as file:  # no more files can be opened
        for entry in file:
            if entry.startswith(b"Umask:"):
                return int(entry.split()[1], 8)
    mask = os.umask(0o077)  # or the kernel does not tell; nothing is made meanwhile that others could read
    os.umask(mask)
    return mask


def imported(*packages: str) -> dict[str, Stat]:
    """The file of each module of these packages that is imported, by the module's name."""
    found = {}
    for name in list(sys.modules):
        if name.partition(".")[0] in packages and (path := _file(name)):
            found[name] = stat(path)
    return found


def _file(name: str) -> str | None:
    module = sys.modules[name]
    spec = getattr(module, "__spec__", None)
    if spec is None or spec.name != name:  # it has put another one in its place
        package = sys.modules.get(name.rpartition(".")[0])
        spec = PathFinder.find_spec(name, getattr(package, "__path__", None))
    return spec.origin if spec else None
