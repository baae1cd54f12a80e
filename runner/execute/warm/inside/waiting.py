"""How a play waits for its tasks: woken by a result, instead of looking for one a thousand times a second."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from ansible.plugins import strategy

_LONGEST = 0.02
"""Seconds; workers that died leave no result, and are looked for as often."""
_arrived = threading.Event()


class _Results(deque[Any]):
    def append(self, result: Any) -> None:
        super().append(result)
        _arrived.set()


class _Time:
    """In the place of the module `time`, as far as strategies use it."""

    @staticmethod
    def sleep(_seconds: float) -> None:
        _arrived.wait(_LONGEST)
        _arrived.clear()  # who comes back from here looks at all results there are

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def install() -> None:
    """Let the strategies that Ansible brings wait this way."""
    strategy.deque = _Results
    strategy.time = _Time()
