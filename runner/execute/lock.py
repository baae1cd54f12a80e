"""One run of an object at a time, also across operators: a locked file in the object's run directory.

flock belongs to the open file, so the supervisor, which inherits it, keeps it locked when the operator dies.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5


async def locked(path: Path) -> int:
    """Wait until `path` is ours alone, and return its descriptor: closing it (and every copy) unlocks.

    The directory must exist; FileNotFoundError says that somebody removed it meanwhile.
    """
    pause = _FIRST_PAUSE
    while (descriptor := _try(path)) is None:
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    return descriptor


def _try(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):  # else it was removed while we waited for it
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
