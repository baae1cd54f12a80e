"""SHA-256 checksums of the cached programs: recorded when one is downloaded or built, checked before each start.

The check detects a file that was truncated, overwritten or replaced. It does not stop an attacker who may write
the whole cache, and so the records.
"""

from __future__ import annotations

import hashlib
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

SUFFIX = ".sha256"
"""`etcd.sha256` is the record of `etcd`, in the format of sha256sum."""


def record(program: Path, content: Path) -> None:
    """Record the checksum of `content`, the file that is about to become `program`."""
    _write(program, _sha256(content))


def matches(program: Path) -> bool:
    """Whether a program matches its record; a program without one, of an older cache, gets its record now."""
    checksum = _sha256(program)
    try:
        recorded = _record_of(program).read_text(encoding="utf-8").split()
    except FileNotFoundError:
        with suppress(OSError):  # a read-only cache
            _write(program, checksum)
        return True
    return recorded[:1] == [checksum]


def discard(program: Path) -> None:
    """Remove a program and its record, so that it is obtained again."""
    program.unlink(missing_ok=True)
    _record_of(program).unlink(missing_ok=True)


def _record_of(program: Path) -> Path:
    return program.with_name(program.name + SUFFIX)


def _write(program: Path, checksum: str) -> None:
    """Write the record in one step, as others may be reading it."""
    with tempfile.NamedTemporaryFile("w", dir=program.parent, prefix=".record-", delete=False) as written:
        written.write(f"{checksum}  {program.name}\n")
    Path(written.name).replace(_record_of(program))


def _sha256(file: Path) -> str:
    status = file.stat()
    return _sha256_of(file.resolve(), status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=64)
def _sha256_of(path: Path, *_: int) -> str:
    """Cached for the life of this process: several programs are one file."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
