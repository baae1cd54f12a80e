"""The fence before the API server: once leadership is lost, not a byte goes out to it any more.

A process can be frozen between any two instructions and go on when somebody else leads. So the question is put
where the bytes leave: each send on each socket compares two times first. That covers what was waiting in a
buffer, the second half of a body, and a spliced exec stream alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from runner.errors import LeadershipLostError
from runner.kube.clock import boottime


class Fence:
    """Open for ever until it is told a time; shut from that time on, or at once by `close`."""

    def __init__(self, now: Callable[[], float] = boottime) -> None:
        self._now = now
        self._until = math.inf
        self._closed = False

    @property
    def shut(self) -> bool:
        return self._closed or self._now() >= self._until

    def open_until(self, moment: float) -> None:
        """In seconds of the fence's clock. Has no effect on a fence that was closed."""
        self._until = moment

    def close(self) -> None:
        """Shut it for good."""
        self._closed = True

    def check(self) -> None:
        """Raises LeadershipLostError when the fence is shut."""
        if self.shut:
            raise LeadershipLostError(
                "leadership is lost or in doubt: another process may lead now, nothing is sent any more"
            )
