"""Starts a zygote: `start(<plays|modules>, <line>)`."""

from __future__ import annotations

import os
import signal
import socket
import sys

from .forks import ForkServer, Program


def start(kind: str, line: int) -> None:
    """Import what the kind needs, then serve the line (a descriptor) until it ends."""
    _like_a_fresh_python()
    sys.path[:] = [entry for entry in sys.path if entry]
    program: Program
    if kind == "plays":
        from .plays import Plays

        program = Plays()
    else:
        from .modules import Modules

        program = Modules()
    ForkServer(socket.socket(fileno=line), program).run()


def _like_a_fresh_python() -> None:
    """Undo what the operator or its own parent did to signals: children inherit it."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.set_inheritable(0, True)
