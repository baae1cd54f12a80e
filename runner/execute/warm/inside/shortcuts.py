"""What the local connection asks a shell to do around a module, done without one: same effect, same answer.

Only the exact commands that Ansible's shell plugin `sh` writes are known, on paths in which nothing means anything
to a shell. Whatever else there is, or goes wrong, is left to the shell.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
from contextlib import suppress

from .command import Result

_PATH = r"/[A-Za-z0-9_./-]*"
_HOME = re.compile(r"/bin/sh -c 'echo ~([a-z_][a-z0-9_-]*)? && sleep 0'")
_MAKE = re.compile(
    rf"""/bin/sh -c '\( umask 77 && mkdir -p "` echo ({_PATH}) `"&& mkdir "` echo ({_PATH}) `" """
    rf"""&& echo ([A-Za-z0-9_.-]+)="` echo ({_PATH}) `" \) && sleep 0'"""
)
_REMOVE = re.compile(rf"/bin/sh -c 'rm -f -r ({_PATH}) > /dev/null 2>&1 && sleep 0'")


def answer(command: str) -> Result | None:
    """Carry out the command, if it is known; None says that nothing was done that a shell could not do again."""
    with suppress(OSError):
        if found := _HOME.fullmatch(command):
            home = _home(found[1])
            return (0, os.fsencode(home) + b"\n", b"") if home else None
        found = _MAKE.fullmatch(command)
        if found and found[2] == found[4]:
            _make(found[1], found[2])
            return 0, f"{found[3]}={found[4]}\n".encode(), b""
        if found := _REMOVE.fullmatch(command):
            if os.path.lexists(found[1]):
                shutil.rmtree(found[1])
            return 0, b"", b""
    return None


def _home(user: str | None) -> str | None:
    if not user:
        return os.environ.get("HOME")
    try:
        return pwd.getpwnam(user).pw_dir
    except KeyError:
        return None


def _make(parents: str, directory: str) -> None:
    before = os.umask(0o077)
    try:
        os.makedirs(parents, exist_ok=True)
        os.mkdir(directory)
    finally:
        os.umask(before)
