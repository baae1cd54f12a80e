"""Starts a zygote: `start(<plays|modules>, <line>)`."""

from __future__ import annotations

import os
import socket
import sys

from .forks import ForkServer, Program
from .leaving import flush, heed_signals


def start(kind: str, line: int) -> None:
    """Import what the kind needs, then serve the line (a descriptor) until it ends."""
    _like_a_fresh_python()
    sys.path[:] = [entry for entry in sys.path if entry]
    program = _plays() if kind == "plays" else _modules()
    ForkServer(socket.socket(fileno=line), program).run()


def _plays() -> Program:
    kept = [(number, os.dup(number)) for number in (1, 2)]
    file = os.memfd_create("said")
    for number, _ in kept:
        os.dup2(file, number)
    try:
        from .plays import Plays  # only one of the two may be imported

        plays = Plays()
    finally:
        flush()
        for number, before in kept:
            os.dup2(before, number)
            os.close(before)
    plays.said = os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")
    os.close(file)
    return plays


def _modules() -> Program:
    from .modules import Modules

    return Modules()


def _like_a_fresh_python() -> None:
    """Undo what the operator or its own parent did: children inherit it."""
    heed_signals()
    os.set_inheritable(0, True)
