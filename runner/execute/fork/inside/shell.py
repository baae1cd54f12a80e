"""The command line of a module call and the commands around it, understood as far as no shell is needed."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_")
"""Variables that an interpreter reads when it starts: ours has started long ago."""
_SHELL = "/bin/sh"
_AFTER = " && sleep 0"  # Ansible adds it to every command: therefore the shell stays, and tells of signals

Result = tuple[int, bytes, bytes]
"""Exit code (negative: the signal), stdout and stderr."""


_PATH = r"/[A-Za-z0-9_./-]*"
_HOME = re.compile(r"/bin/sh -c 'echo ~([a-z_][a-z0-9_-]*)? && sleep 0'")
_MAKE = re.compile(
    rf"""/bin/sh -c '\( umask 77 && mkdir -p "` echo ({_PATH}) `"&& mkdir "` echo ({_PATH}) `" """
    rf"""&& echo ([A-Za-z0-9_.-]+)="` echo ({_PATH}) `" \) && sleep 0'"""
)
_REMOVE = re.compile(rf"/bin/sh -c 'rm -f -r ({_PATH}) > /dev/null 2>&1 && sleep 0'")


def parse(line: str, environment: dict[str, str]) -> dict[str, str] | None:
    """The environment of the interpreter that this line would start below `environment`.

    None where it is anything else than `/bin/sh -c '[NAME=VALUE ...] <this interpreter> && sleep 0'`.
    """
    words = _words(line)
    if words is None or len(words) != 3 or words[:2] != [_SHELL, "-c"] or not words[2].endswith(_AFTER):
        return None
    inner = _words(words[2].removesuffix(_AFTER))
    if not inner or not is_this_interpreter(inner[-1]):
        return None
    *assigned, interpreter = inner
    if not all(_ASSIGNMENT.fullmatch(word) for word in assigned):
        return None
    variables = dict(word.split("=", 1) for word in assigned)
    again = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    if words[2].removesuffix(_AFTER).split() != " ".join([*again, interpreter]).split():
        return None  # something in it means more to a shell than it says
    if any(name.startswith(_AT_START) for name in variables):
        return None
    return {**environment, **of_shell(environment, interpreter), **variables}


def _words(text: str) -> list[str] | None:
    try:
        return shlex.split(text)
    except ValueError:
        return None


@cache
def is_this_interpreter(path: str) -> bool:
    """Whether this is the interpreter that runs us, in the same installation."""
    try:
        return os.path.samefile(path, sys.executable) and os.path.samefile(
            os.path.dirname(path),
            os.path.dirname(sys.executable),
        )
    except OSError:
        return False


def of_shell(environment: dict[str, str], interpreter: str) -> dict[str, str]:
    """The variables that the shell of this machine sets by itself, but for PWD, which depends on the directory."""
    own: dict[str, str] = {}
    for name in shell_sets():
        if name == "SHLVL":
            own[name] = str(int(environment.get(name, "0")) + 1) if environment.get(name, "0").isdecimal() else "1"
        elif name == "_":
            own[name] = interpreter
    return own


@cache
def shell_sets() -> frozenset[str]:
    """Which of PWD, SHLVL and _ a shell gives to what it runs, though nobody gave them to it."""
    found = subprocess.run([_SHELL, "-c", "/usr/bin/env"], env={}, capture_output=True, text=True, check=False)
    return frozenset(line.partition("=")[0] for line in found.stdout.splitlines()) & {"PWD", "SHLVL", "_"}


def as_told_by_shell(code: int) -> tuple[int, bytes]:
    """The exit code of the shell when what it started had this one (negative: the signal), and what it says."""
    if code >= 0:
        return code, b""
    silent = -code in {signal.SIGINT, signal.SIGPIPE}
    return 128 - code, b"" if silent else f"{signal.strsignal(-code)}\n".encode()


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
