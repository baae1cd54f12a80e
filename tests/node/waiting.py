"""Waiting in tests of the node: as long as a test says, and longer where the machine is known to be slow."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TypeVar

from bench import observer

SLOWER = "NODE_SLOWER"
"""The variable that says by which factor the machine is slower; a guest has it."""
_TIMEOUT = re.compile(r"--timeout=(\d+)s")
Answer = TypeVar("Answer")


def allowed(seconds: float) -> float:
    """The seconds that something may take which takes `seconds` at most on a machine that is not slow."""
    return seconds * float(os.environ.get(SLOWER, "1"))


def told(argument: str) -> str:
    """An argument of kubectl; of `--timeout=` the seconds that are allowed."""
    return _TIMEOUT.sub(lambda found: f"--timeout={allowed(float(found[1])):.0f}s", argument)


def wait_for(what: str, condition: Callable[[], Answer | None], *, seconds: float, every: float = 0.1) -> Answer:
    """The first true answer of `condition`. Raises DevError, naming `what`, when the seconds allowed are over."""
    return observer.wait_for(what, condition, seconds=allowed(seconds), every=every)
