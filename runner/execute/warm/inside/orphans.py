"""What children of a fork server that were killed have left: it is killed too, and the lock of their request kept.

Nobody waits for it. What cannot be killed is given up after a while, and keeps only the lock of its own request.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from .supervisor import GIVEN_UP, descendants, note_left

_PAUSES = ((0.2, 5), (GIVEN_UP, 50))
_LONG_PAUSE = 1000
"""Milliseconds between two looks at what is left for less than so many seconds, and at what was given up."""


@dataclass(slots=True, eq=False)
class _Left:
    """What one child has left; `since` is of the monotonic clock."""

    lock: int
    since: float
    pids: set[int] = field(default_factory=set)
    given_up: bool = False


class Orphans:
    """Those of one fork server."""

    def __init__(self) -> None:
        self._left: list[_Left] = []

    def __bool__(self) -> bool:
        return bool(self._left)

    def of_killed(self, lock: int) -> None:
        """A child was killed that served the request of this lock, which is ours from now on."""
        self._left.append(_Left(lock, time.monotonic()))

    def look(self, alive: Callable[[], set[int]]) -> int | None:
        """Kill what is left, and forget what has ended; milliseconds until the next look.

        `alive` are the children and all below them: whatever else there is below us is an orphan.
        """
        self._assign(set(descendants()) - alive())
        kept: list[_Left] = []
        for left in self._left:
            _kill(left.pids)
            left.pids = set(filter(_lives, left.pids))
            if left.pids or not all(earlier.given_up for earlier in kept):  # those may hold what is of this one
                kept.append(left)
            else:
                os.close(left.lock)
        self._left = kept
        return min(map(_pause, kept), default=None)

    def _assign(self, orphans: set[int]) -> None:
        """Those that are new are of the child that was killed last."""
        for left in self._left:
            left.pids &= orphans
        self._left[-1].pids |= orphans.difference(*(left.pids for left in self._left))

    def forget(self) -> None:
        """In a child: hold no lock."""
        for left in self._left:
            os.close(left.lock)
        self._left.clear()


def _kill(pids: set[int]) -> None:
    for pid in pids:
        with suppress(OSError):  # it has ended, or is another user's
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        with suppress(OSError):  # not our own child, or reaped
            os.waitpid(pid, os.WNOHANG)


def _lives(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def _pause(left: _Left) -> int:
    """Milliseconds; it is given up when it is there for too long."""
    passed = time.monotonic() - left.since
    if passed > GIVEN_UP and not left.given_up:
        left.given_up = True
        names = note_left(left.lock, sorted(left.pids))
        print(f"given up: processes of a run cannot be ended: {names}", file=sys.stderr, flush=True)  # noqa: T201
    return next((pause for seconds, pause in _PAUSES if passed < seconds), _LONG_PAUSE)
