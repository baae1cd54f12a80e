"""Bounds the bytes that runs leave on disk, for each custom resource and in all, and removes the oldest artifacts.

Runs share a volume with a size limit, beyond which the kubelet evicts the pod with every run. Sizes are those of
blocks, as the kubelet counts them. Totals are kept while runs write: a run costs a look at its own files alone.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import structlog

from runner.config.golang import Bytes
from runner.execute.artifacts import LATEST, allocated, rotate
from runner.execute.rundir import RunDirectory, remove_tree, try_lock

IN_ALL, PER_OBJECT = Bytes(768 << 20), Bytes(32 << 20)
"""Defaults that fit the volume of config/manager, with room for the temporary files of runs."""
_BLOCK = 4096
_LEAST_ROOM = 256 << 10
"""Bytes of output that a run may write, however large its extra vars are."""
_COMPACTED = 100
_UNLIMITED = 1 << 62
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes that all runs, and runs of one object, may leave; 0 is no limit."""

    in_all: int = IN_ALL
    per_object: int = PER_OBJECT


@dataclass(slots=True)
class _Usage:
    """Bytes of one object: of its inputs, and of the artifacts of each run that has ended, oldest first."""

    directory: RunDirectory
    inputs: int = 0
    runs: dict[str, int] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return self.inputs + sum(self.runs.values())


class Room:
    """The bytes that one run may still write into its artifacts. Once they are used up, nothing more is taken."""

    def __init__(self, budget: Budget | None = None, size: int = _UNLIMITED) -> None:
        self.left_out = 0
        self.used = 0
        self._budget = budget
        self._size = size

    def take(self, size: int) -> bool:
        """Account for so many bytes that are about to be written, or for their being left out."""
        fits = not self.left_out and self.used + size <= self._size
        if fits and (self._budget is None or self._budget.take(size)):
            self.used += size
            return True
        self.left_out += size
        return False


class Budget:
    """Bytes that runs have left, and which of them go first. Called by several threads."""

    def __init__(self, limits: Limits) -> None:
        self._in_all = limits.in_all or _UNLIMITED
        self._per_object = min(limits.per_object or _UNLIMITED, self._in_all)
        self._kept = self._in_all - self._in_all // 4
        self._lock = Lock()
        self._objects: dict[Path, _Usage] = {}
        self._oldest: list[tuple[int, Path, str]] = []
        self._compact_at = _COMPACTED
        self.bytes = 0

    def take(self, size: int) -> bool:
        """Account for bytes of a run under way, unless they exceed what all runs may leave."""
        with self._lock:
            fits = self.bytes + size <= self._in_all
            self.bytes += size * fits
        return fits

    def begin(self, directory: RunDirectory) -> Room:
        """The room of a run whose inputs are written; blocks. The caller holds the lock of the directory."""
        self.measure([directory])
        inputs = self._update_inputs(directory)
        self._remove_oldest()
        return Room(self, max(_LEAST_ROOM, self._per_object - inputs))

    def settle(self, directory: RunDirectory, ident: str, keep: int, room: Room) -> None:
        """Account for a run that has ended, and remove artifacts until the limits hold; blocks.

        The caller holds the lock of the directory. Kept are the newest `keep` runs, below 1 all, if they fit.
        """
        artifacts = directory.artifacts / ident
        size, ended = _size(artifacts), _modified(artifacts)
        self._update_inputs(directory)
        with self._lock:
            usage = self._objects.setdefault(directory.path, _Usage(directory))
            self.bytes += size - room.used - usage.runs.pop(ident, 0)
            usage.runs[ident] = size
            heapq.heappush(self._oldest, (ended, directory.path, ident))
            self._compact()
        for removed in rotate(directory.artifacts, keep, ident):
            self._subtract(directory.path, removed)
        while usage.bytes > self._per_object and len(usage.runs) > 1:
            self._remove(directory, next(iter(usage.runs)))
        self._remove_oldest()

    def measure(self, directories: Iterable[RunDirectory]) -> None:
        """Account for what earlier operators have left of these objects; blocks."""
        for directory in directories:
            if directory.path in self._objects or not directory.artifacts.is_dir():
                continue
            try:
                runs = sorted((_modified(path), path) for path in directory.artifacts.iterdir() if _is_run(path))
            except OSError as error:
                _log.warning("Cannot read artifacts", path=str(directory.artifacts), error=str(error))
                continue
            sizes = {path.name: _size(path) for _, path in runs}
            usage = _Usage(directory, _size_of_inputs(directory), sizes)
            with self._lock:
                if directory.path not in self._objects:
                    self._objects[directory.path] = usage
                    self.bytes += usage.bytes
                    for ended, path in runs:
                        heapq.heappush(self._oldest, (ended, directory.path, path.name))
        self._remove_oldest()

    def forget(self, directory: RunDirectory) -> None:
        """Account for the removal of an object's directory."""
        with self._lock:
            usage = self._objects.pop(directory.path, None)
            self.bytes -= usage.bytes if usage is not None else 0

    def _update_inputs(self, directory: RunDirectory) -> int:
        size = _size_of_inputs(directory)
        with self._lock:
            usage = self._objects.setdefault(directory.path, _Usage(directory))
            self.bytes += size - usage.inputs
            usage.inputs = size
        return size

    def _remove_oldest(self) -> None:
        """Remove the oldest artifacts of objects without a run under way, until enough is left for new ones."""
        in_use = []
        while (oldest := self._next_oldest()) is not None:
            usage = self._objects.get(oldest[1])
            if usage is not None and not self._remove_unless_in_use(usage, oldest[2]):
                in_use.append(oldest)
        with self._lock:
            for entry in in_use:
                heapq.heappush(self._oldest, entry)

    def _next_oldest(self) -> tuple[int, Path, str] | None:
        with self._lock:
            while self._oldest and self.bytes > self._kept:
                entry = heapq.heappop(self._oldest)
                usage = self._objects.get(entry[1])
                if usage is not None and entry[2] in usage.runs:
                    return entry
        return None

    def _remove_unless_in_use(self, usage: _Usage, ident: str) -> bool:
        try:
            lock = try_lock(usage.directory.lock)
        except OSError:  # the directory is gone, or somebody else's
            self.forget(usage.directory)
            return True
        if lock is None:
            return False
        try:
            self._remove(usage.directory, ident)
            if not usage.runs:
                self._remove_inputs(usage.directory)
        finally:
            os.close(lock)
        return True

    def _remove(self, directory: RunDirectory, ident: str) -> None:
        path = directory.artifacts / ident
        try:
            remove_tree(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            _log.warning("Cannot remove the artifacts of a run", path=str(path), error=str(error))
        self._subtract(directory.path, ident)
        latest = directory.artifacts / LATEST
        with suppress(OSError):
            if latest.is_symlink() and not latest.exists():
                latest.unlink()

    def _remove_inputs(self, directory: RunDirectory) -> None:
        """Remove the files that the last run of an object has read; the next one writes them again."""
        try:
            for path in _inputs(directory):
                if path.is_dir():
                    remove_tree(path)
        except OSError as error:
            _log.warning("Cannot remove the inputs of a run", path=str(directory.path), error=str(error))
        self._update_inputs(directory)

    def _compact(self) -> None:
        """Drop what is no longer there from the heap, now and then: else it would grow with every run."""
        if len(self._oldest) > self._compact_at:
            self._oldest = [e for e in self._oldest if e[1] in self._objects and e[2] in self._objects[e[1]].runs]
            heapq.heapify(self._oldest)
            self._compact_at = _COMPACTED + 2 * len(self._oldest)

    def _subtract(self, path: Path, ident: str) -> None:
        with self._lock:
            if (usage := self._objects.get(path)) is not None:
                self.bytes -= usage.runs.pop(ident, 0)


def _inputs(directory: RunDirectory) -> list[Path]:
    return [*(directory.path / name for name in ("env", "inventory", "project")), directory.temporary]


def _size_of_inputs(directory: RunDirectory) -> int:
    return sum(map(_size, _inputs(directory)))


def _size(top: Path) -> int:
    """The bytes of all blocks below a directory; 0 for one that is not there."""
    total, directories = 0, [str(top)]
    while directories:
        try:
            with os.scandir(directories.pop()) as entries:
                total += _BLOCK
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        directories.append(entry.path)
                    else:
                        total += allocated(entry.stat(follow_symlinks=False).st_size)
        except OSError:  # removed meanwhile, or not ours to read
            continue
    return total


def _is_run(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
