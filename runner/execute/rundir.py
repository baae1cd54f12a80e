"""Where the runs of one object live on disk, and how that goes away again.

Everything is private (0700), nothing is reached through a symlink, and no name can lead out of the root.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.errors import RunError
from runner.execute.root import make_root
from runner.objects import ObjectKey

_LONGEST_NAME = 255
_ATTEMPTS = 10
DISCOVERY = "k8srcp-*.json"
"""As kubernetes.core names the files in which it keeps what it knows of the API."""


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
        return self.path / ".lock"

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
        for path in (self.temporary, levels[-1]):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(path)
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
    for left in path.iterdir():
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()
    return path


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path`, mode 0600, in place of what was there. Raises OSError, also for a symlink."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        os.fchmod(descriptor, 0o600)
        file.write(text)
