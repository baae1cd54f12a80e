"""Where the runs of one object live on disk, private and one at a time, and how that goes away again.

Everything is private (0700), nothing is reached through a symlink, and no name can lead out of the root.

flock belongs to the open file, so the supervisor, which inherits it, keeps it locked when the operator dies.
The file names the processes that keep it locked because they could not be ended with their run.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import structlog

from runner.errors import RunError
from runner.execute.root import make_root
from runner.objects import ObjectKey

LOCK = ".lock"
_log = structlog.get_logger(__name__)
_LONGEST_NAME = 255
_ATTEMPTS = 10
DISCOVERY = "k8srcp-*.json"
"""As kubernetes.core names the files in which it keeps what it knows of the API."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
PATIENCE = 60.0
"""Seconds: an earlier run that is being ended needs less, unless some process of it cannot be ended."""
_LONGEST_NOTE = 2000


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
            remove_tree(self.temporary)
        with contextlib.suppress(FileNotFoundError):
            _clear(self.path, but=LOCK)  # by which it is found again should this be cut short
            remove_tree(self.path)
        for parent in (self.temporary.parent, *reversed(levels[:-1])):
            try:
                parent.rmdir()
            except OSError:
                continue  # another object's directory is in it, or it is gone

    def make_temporary(self) -> None:
        """Make TMPDIR, private. Raises OSError."""
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(FileNotFoundError):  # its parent may vanish meanwhile, with another object
                private_directory(self.temporary.parent)
                return private_directory(self.temporary)
        raise FileNotFoundError(f"something keeps removing {self.temporary.parent}")

    def clear_temporary(self) -> None:
        """Remove what a run left in TMPDIR, but for the API discovery that the next run reads again."""
        for path in self.temporary.iterdir():
            if path.is_dir() and not path.is_symlink():
                with contextlib.suppress(OSError):
                    remove_tree(path)
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
            remove_tree(left)
        elif left.name != but:
            left.unlink()


def remove_tree(top: Path) -> None:
    """Remove a directory with all that is in it, however deep: shutil.rmtree recurses, up to Python 3.12.

    Raises OSError, also where it is not there, once all that can be removed is.
    """
    left, failed = [top], list[OSError]()
    while left:
        directory = left.pop()
        try:
            left += _emptied(directory, top, failed)
            if directory != top:
                directory.rmdir()
        except OSError as error:
            failed.append(error)
    if failed:
        raise failed[0]
    top.rmdir()


def _emptied(directory: Path, top: Path, failed: list[OSError]) -> list[Path]:
    """The directories that were in it, where they are now, once its files are removed."""
    with os.scandir(directory) as entries:
        found = list(entries)
    moved = []
    for entry in found:
        try:
            if entry.is_dir(follow_symlinks=False):
                moved.append(_nearer(Path(entry.path), top))
            else:
                os.unlink(entry.path)  # noqa: PTH108  (every file of every run: Path costs half as much again)
        except OSError as error:
            failed.append(error)
    return moved


def _nearer(path: Path, top: Path) -> Path:
    """Where the directory is once it was moved up, lest its path grow without end."""
    if path.parent == top:
        return path
    target = top / f".removing-{secrets.token_hex(8)}"
    try:
        return path.rename(target)
    except PermissionError:  # it is read-only: its entry for its parent changes, too
        path.chmod(0o700)
        return path.rename(target)


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path`, mode 0600, in place of what was there. Raises OSError, also for a symlink."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        os.fchmod(descriptor, 0o600)
        file.write(text)


async def forget(directory: RunDirectory, only_if: Callable[[], Awaitable[bool]] | None = None) -> None:
    """Remove it once no run is under way in it, if that holds then. What cannot be removed is logged and stays."""
    try:
        if not directory.path.is_dir():
            return
        lock = await locked(directory.lock)
    except FileNotFoundError:
        return
    except OSError as error:
        _log.warning("cannot lock a run directory to remove it", path=str(directory.path), error=str(error))
        return
    try:
        if only_if is None or await only_if():
            await _removed(directory)
    except OSError as error:
        _log.warning("cannot remove a run directory", path=str(directory.path), error=str(error))
    finally:
        os.close(lock)


async def _removed(directory: RunDirectory) -> None:
    removing = asyncio.ensure_future(asyncio.to_thread(directory.remove))
    try:
        await asyncio.shield(removing)
    except asyncio.CancelledError:
        await asyncio.wait({removing})  # whoever has the lock next must find it gone
        raise


async def locked(path: Path) -> int:
    """Wait until `path` is ours alone, and return its descriptor: closing it (and every copy) unlocks.

    The directory must exist; FileNotFoundError says that somebody removed it meanwhile. TimeoutError says who does
    not let go of it, as far as that is known.
    """
    pause = _FIRST_PAUSE
    given_up = asyncio.get_running_loop().time() + PATIENCE
    while (descriptor := try_lock(path)) is None:
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


def try_lock(path: Path) -> int | None:
    """The descriptor of the lock, or None while somebody has it. Raises OSError, also if it is not there."""
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
