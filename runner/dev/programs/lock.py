"""One process at a time works on a directory or a file; the lock ends with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked_directory(directory: Path) -> Iterator[None]:
    """Make `directory` (mode 0700) where it is missing, and hold its lock; whoever holds it may remove it."""
    while True:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(directory, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
            # The previous holder may have removed the directory that we waited for.
            if _is_still(descriptor, directory):
                yield
                return


@contextmanager
def locked_file(file: Path) -> Iterator[None]:
    """Hold the lock of `file`, which is made where it is missing and stays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with _locked(file, os.O_RDWR | os.O_CREAT):
        yield


@contextmanager
def _locked(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _is_still(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
