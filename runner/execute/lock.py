"""One run of an object at a time, also across operators: a locked file in the object's run directory.

flock belongs to the open file, so the supervisor, which inherits it, keeps it locked when the operator dies. The
file names the processes that keep it locked because they could not be ended with their run.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5
PATIENCE = 60.0
"""Seconds: an earlier run that is being ended needs less, unless some process of it cannot be ended."""
_LONGEST_NOTE = 2000


async def locked(path: Path) -> int:
    """Wait until `path` is ours alone, and return its descriptor: closing it (and every copy) unlocks.

    The directory must exist; FileNotFoundError says that somebody removed it meanwhile. TimeoutError says who does
    not let go of it, as far as that is known.
    """
    pause = _FIRST_PAUSE
    given_up = asyncio.get_running_loop().time() + PATIENCE
    while (descriptor := _try(path)) is None:
        if asyncio.get_running_loop().time() > given_up:
            raise TimeoutError(
                f"processes of an earlier run have not ended: {_note(path) or 'it is not known which'}"
            )
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    return descriptor


def left_behind(descriptor: int) -> str:
    """Which processes keep the lock after their run has ended, because they cannot be ended; usually none."""
    return os.pread(descriptor, _LONGEST_NOTE, 0).decode(errors="replace")


def _note(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        return left_behind(descriptor)
    finally:
        os.close(descriptor)


def _try(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(status := os.fstat(descriptor), path.stat()):  # else it was removed while we waited
            if status.st_size:
                os.ftruncate(descriptor, 0)  # whoever is named there has ended
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
