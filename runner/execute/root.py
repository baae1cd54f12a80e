"""The root of all run directories: one where nobody but us can have put what runs read.

Its usual place is the same on every machine, and in /tmp.
"""

from __future__ import annotations

import os
import stat
import tempfile
from functools import cache
from pathlib import Path

import structlog

from runner.errors import RunError

_ROOT, _UNMAPPED = 0, 65534
_log = structlog.get_logger(__name__)


def private_root(wanted: Path) -> Path:
    """`wanted` if it is ours alone, or can be made; else a place of this user's, else a new one.

    Raises RunError where none can be had.
    """
    for place in (wanted.absolute(), of_user()):
        try:
            root = make_root(place)
        except RunError as error:
            _log.warning("Runs keep their files in another directory", why=str(error))
        else:
            return root
    try:
        return Path(tempfile.mkdtemp(prefix="ansible-operator-"))
    except OSError as error:
        raise RunError(f"there is no directory in which runs could keep their files: {error}") from error


def of_user() -> Path:
    """The place of this user's."""
    return Path(tempfile.gettempdir(), f"ansible-operator-{os.geteuid()}", "runner")


def make_root(path: Path) -> Path:
    """Make `path`, without symlinks from now on. Raises RunError, also when others can write there."""
    try:
        if not path.is_dir():
            for parent in reversed(path.parents):
                parent.mkdir(mode=0o755, exist_ok=True)  # whatever the umask is
            path.mkdir(mode=0o700, exist_ok=True)
        refused = open_to_others(path)
        root = path.resolve(strict=True)
    except OSError as error:
        raise RunError(f"cannot make {path}: {error}") from error
    if refused:
        raise RunError(f"{refused}: name another directory by --runner-dir, or remove this one")
    return root


def open_to_others(path: Path) -> str:
    """Who else could put something at or below `path`, else an empty string. Raises OSError.

    A mount may be writable for all, as volumes of a pod are: who could mount there could do anything.
    """
    for part in (*reversed(path.parents), path):
        status = part.lstat()
        if part == part.parent:
            continue  # to whom / belongs, everything does
        if status.st_uid not in _trusted(os.geteuid()):
            return f"{part} belongs to user {status.st_uid}"
        if stat.S_ISLNK(status.st_mode):
            rest = path.relative_to(part)
            return open_to_others(part.parent / part.readlink() / rest)
        if _may_be_written(status) and not os.path.ismount(part):
            return f"{part} can be written by other users"
    return ""


def _may_be_written(status: os.stat_result) -> bool:
    """By others, who may also replace what is not theirs. A group of root's, or of our own, is not others."""
    mode = status.st_mode
    by_group = mode & stat.S_IWGRP and status.st_gid not in {_ROOT, os.getegid()}
    return bool((mode & stat.S_IWOTH or by_group) and not mode & stat.S_ISVTX)


@cache
def _trusted(user: int) -> frozenset[int]:
    """Root, this user, and where users are mapped, those who are not: none of those can be told from root."""
    first, _, number = Path("/proc/self/uid_map").read_text(encoding="ascii").split()[:3]
    mapped = (first, int(number)) != ("0", 2**32 - 1)
    return frozenset({_ROOT, user, *([_UNMAPPED] if mapped else [])})
