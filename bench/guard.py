"""Ends what this process has started when this process is gone, even if it was killed."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

_WHEN_INPUT_ENDS = 'while read -r _; do :; done; exec "$@"'


class Guard:
    """A shell that runs `command` once this process has ended, unless it was dismissed before.

    It has a session of its own, so that an interrupt from the terminal does not end it, too.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _WHEN_INPUT_ENDS, "guard", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        self._shell.kill()
        self._shell.communicate()
