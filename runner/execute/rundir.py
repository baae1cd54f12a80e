"""Where the runs of one object live on disk, private and one at a time, and how that goes away again.

Everything is private (0700), nothing is reached through a symlink, no name can lead out of the root, and the
root is one where nobody but us can have put what runs read: its usual place is the same on every machine, and
in /tmp.

flock belongs to the open file, so the supervisor, which inherits it, keeps it locked when the operator dies.
The file names the processes that keep it locked because they could not be ended with their run.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import structlog

from runner.errors import RunError
from runner.objects import ObjectKey

_ROOT, _UNMAPPED = 0, 65534
LOCK = ".lock"
_log = structlog.get_logger(__name__)
_LONGEST_NAME = 255
_ATTEMPTS = 10
DISCOVERY = "k8srcp-*.json"
"""As kubernetes.core names the files in which it keeps what it knows of the API."""
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5
PATIENCE = 60.0
"""Seconds: an earlier run that is being ended needs less, unless some process of it cannot be ended."""
_LONGEST_NOTE = 2000


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


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The private data directory of one object: `<root>/<group>/<version>/<Kind>/<namespace>/<name>`."""

    root: Path
    parts: tuple[str, ...]

    @classmethod
    def of(cls, root: Path, key: ObjectKey) -> RunDirectory:
        """The directory of `key`, empty parts left out. Raises RunError for a name that is no file name."""
        parts = tuple(part for part in (*_kind_parts(key), key.namespace, key.name) if part)
        for part in parts:
            if part in {".", ".."} or "/" in part or "\0" in part or len(os.fsencode(part)) > _LONGEST_NAME:
                raise RunError(f"{key}: {part!r} cannot be the name of a directory; nothing was run")
        if not key.name:
            raise RunError(f"{key}: the object has no name; nothing was run")
        return cls(root, parts)

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.parts)

    @property
    def lock(self) -> Path:
        return self.path / LOCK

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    @property
    def temporary(self) -> Path:
        """TMPDIR of the runs. Its path is short whatever the object's name: sockets may be made in it."""
        return self.root / ".tmp" / hashlib.sha256("/".join(self.parts).encode()).hexdigest()[:16]

    @property
    def artifacts(self) -> Path:
        return self.path / "artifacts"

    def make(self) -> None:
        """Make the directory and its parents. Raises RunError if that cannot be done."""
        try:
            make_root(self.root)
            for _ in range(_ATTEMPTS):
                # a parent may vanish meanwhile, with the last object of its kind
                with contextlib.suppress(FileNotFoundError):
                    for path in self._levels():
                        private_directory(path)
                    return
        except OSError as error:
            raise RunError(f"cannot make the run directory {self.path}: {error}") from error
        raise RunError(f"cannot make the run directory {self.path}: something keeps removing its parents")

    def remove(self) -> None:
        """Remove the directory with all that is in it, then the parents that this leaves empty.

        Raises OSError where a symlink stands in the way, or something cannot be removed.
        """
        levels = list(self._levels())
        for path in levels:
            if path.is_symlink():
                raise OSError(f"{path} is a symlink; not removing what is behind it")
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.temporary)
        with contextlib.suppress(FileNotFoundError):
            _clear(self.path, but=LOCK)  # by which it is found again should this be cut short
            shutil.rmtree(self.path)
        for parent in (self.temporary.parent, *reversed(levels[:-1])):
            try:
                parent.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                continue  # another object's directory is in it

    def make_temporary(self) -> None:
        """Make TMPDIR, private. Raises OSError."""
        private_directory(self.temporary.parent)
        private_directory(self.temporary)

    def clear_temporary(self) -> None:
        """Remove what a run left in TMPDIR, but for the API discovery that the next run reads again."""
        for path in self.temporary.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif not path.match(DISCOVERY):
                path.unlink(missing_ok=True)

    def _levels(self) -> Iterator[Path]:
        path = self.root
        for part in self.parts:
            path /= part
            yield path


def _kind_parts(key: ObjectKey) -> tuple[str, str, str]:
    return key.gvk.group, key.gvk.version, key.gvk.kind


def private_directory(path: Path) -> None:
    """Make `path` a directory of mode 0700. Raises OSError for anything else, a symlink, or another user's."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        owner = os.fstat(descriptor).st_uid
        if owner != os.geteuid():  # root could use it all the same, with what its owner has put there
            raise PermissionError(f"{path} belongs to user {owner}: remove it")
        os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)


def empty_directory(path: Path) -> Path:
    """Make `path` a private directory with nothing in it. Raises OSError."""
    private_directory(path)
    _clear(path)
    return path


def _clear(path: Path, but: str = "") -> None:
    for left in path.iterdir():
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        elif left.name != but:
            left.unlink()


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path`, mode 0600, in place of what was there. Raises OSError, also for a symlink."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        os.fchmod(descriptor, 0o600)
        file.write(text)


async def locked(path: Path) -> int:
    """Wait until `path` is ours alone, and return its descriptor: closing it (and every copy) unlocks.

    The directory must exist; FileNotFoundError says that somebody removed it meanwhile. TimeoutError says who does
    not let go of it, as far as that is known.
    """
    pause = _FIRST_PAUSE
    given_up = asyncio.get_running_loop().time() + PATIENCE
    while (descriptor := _try(path)) is None:
        if asyncio.get_running_loop().time() > given_up:
            raise TimeoutError(
                f"processes of an earlier run have not ended: {_note(path) or 'it is not known which'}"
            )
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    return descriptor


def left_behind(descriptor: int) -> str:
    """Which processes keep the lock after their run has ended, because they cannot be ended; usually none."""
    return os.pread(descriptor, _LONGEST_NOTE, 0).decode(errors="replace")


def _note(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        return left_behind(descriptor)
    finally:
        os.close(descriptor)


def _try(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(status := os.fstat(descriptor), path.stat()):  # else it was removed while we waited
            if status.st_size:
                os.ftruncate(descriptor, 0)  # whoever is named there has ended
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
