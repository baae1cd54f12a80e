"""The runs that operators have left in their run directories: what `run.json` says of each.

Whatever is there is read as it is found: by whoever may read it, beside an operator that goes on writing, with
files that are half written or somebody else's. What cannot be read is told of, and left out.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from runner.execute.artifacts import ABOUT
from runner.execute.output import visible
from runner.execute.root import of_user
from runner.execute.rundir import LOCK
from runner.objects import GroupVersionKind, ObjectKey

RUNNING, INTERRUPTED = "running", "interrupted"
_DEEPEST = 5
"""Directories from a root to a run directory: group, version, kind, namespace, name."""
_LONGEST = 1024 * 1024
"""Bytes of a `run.json`."""
_LONGEST_EVENT = 64 * 1024 * 1024
_EVENT = re.compile(r"[0-9]{1,9}-[0-9a-f-]{36}(_[0-9]+)?\.json")
"""None that is still a part (`-partial.json`)."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run: `about` is its `run.json`; `result` is succeeded, failed, interrupted, or running."""

    artifacts: Path
    about: Mapping[str, Any] = field(repr=False)
    started: datetime
    result: str

    @property
    def ident(self) -> str:
        return self.artifacts.name

    @property
    def seconds(self) -> float | None:
        """How long it took, where that is known."""
        found = self.about.get("seconds")
        return float(found) if isinstance(found, int | float) else None

    @property
    def kept(self) -> int:
        """How many runs of its object are kept; 0 is all."""
        found = self.about.get("kept")
        return found if isinstance(found, int) else 0

    def text(self, name: str) -> str:
        """A field of it, printable and on one line."""
        return _line(self.about.get(name))

    def texts(self, name: str) -> list[str]:
        """The same of a list."""
        found = self.about.get(name)
        return [_line(item) for item in found] if isinstance(found, list) else []

    def count(self, name: str) -> int:
        """How many tasks were ok, changed, skipped, failures."""
        found = self.about.get("tasks")
        number = found.get(name) if isinstance(found, Mapping) else 0
        return number if isinstance(number, int) else 0

    def is_of(self, project: Path) -> bool:
        """Whether the watches file that asked for it is in that directory; of an older run, what it performed."""
        if watches := self.text("watches"):
            return os.path.realpath(Path(watches).parent) == os.path.realpath(project)
        return os.path.realpath(self.text("content")).startswith(f"{os.path.realpath(project)}/")

    @property
    def object(self) -> str:
        """`Kind namespace/name`."""
        return f"{self.text('kind')} {'/'.join(filter(None, (self.text('namespace'), self.text('name'))))}"


@dataclass(slots=True)
class History:
    """The runs below some roots. `problems` says, for people, what could not be read."""

    roots: Iterable[Path]
    problems: list[str] = field(default_factory=list)

    def runs(self, name: str = "", namespace: str = "") -> list[PastRun]:
        """Those of objects of that name and namespace, of all if it is empty; the newest first."""
        found: list[PastRun] = []
        for directory in self._directories():
            if name in ("", directory.name) and namespace in ("", directory.parent.name):
                found += self.of_object(directory)
        return sorted(found, key=lambda run: (run.started, run.ident), reverse=True)

    def objects(self, gvk: GroupVersionKind) -> Iterator[tuple[ObjectKey, Path]]:
        """Those of a kind that have a run directory, and where it is."""
        for root in self.roots:
            top = root.joinpath(*filter(None, (gvk.group, gvk.version, gvk.kind)))
            for directory in self._below(top, 2):
                namespace = directory.parent.name if directory.parent != top else ""
                yield ObjectKey(gvk, namespace, directory.name), directory

    def identified(self, prefix: str) -> list[PastRun]:
        """Those whose ID begins so; of one that is whole, that."""
        found = [
            path
            for directory in self._directories()
            for path in self._entries(directory / "artifacts")
            if path.name.startswith(prefix)
        ]
        chosen = [path for path in found if path.name == prefix] or found
        directories = dict.fromkeys(path.parent.parent for path in chosen)
        runs = [run for directory in directories for run in self.of_object(directory)]
        return [run for run in runs if run.artifacts in chosen]

    def _directories(self) -> Iterator[Path]:
        for root in self.roots:
            yield from self._below(root, _DEEPEST)

    def _below(self, path: Path, deeper: int) -> Iterator[Path]:
        """The run directories: those with a lock."""
        entries = self._entries(path)
        if path / LOCK in entries:
            yield path
        elif deeper:
            for entry in entries:
                yield from self._below(entry, deeper - 1)

    def _entries(self, path: Path) -> list[Path]:
        """The directories in it, and its lock; nothing that is a symlink, or hidden."""
        try:
            with os.scandir(path) as entries:
                names = [e.name for e in entries if e.name == LOCK or (e.name[0] != "." and _is_directory(e))]
        except FileNotFoundError:  # removed meanwhile, with its object
            return []
        except OSError as error:
            self.problems.append(f"{path} cannot be read: {_why(error)}")
            return []
        return [path / name for name in names]

    def of_object(self, directory: Path) -> list[PastRun]:
        """The runs in one of them."""
        paths = self._entries(directory / "artifacts")
        found = [run for path in paths if (run := self._read(path)) is not None]
        newest = max(found, key=lambda run: run.started, default=None)
        return [
            self._unended(run, directory) if run is newest and run.result == INTERRUPTED else run for run in found
        ]

    def _unended(self, run: PastRun, directory: Path) -> PastRun:
        """The newest of its object, of which no end is told: under way if somebody holds the lock."""
        if _is_locked(directory / LOCK):
            return PastRun(run.artifacts, run.about, run.started, RUNNING)
        return self._read(run.artifacts) or run  # it may have ended since

    def _read(self, path: Path) -> PastRun | None:
        file = path / ABOUT
        try:
            about = json.loads(contents(file, _LONGEST))
            started = datetime.fromisoformat(about["started"])
            result = _line(about.get("result")) or INTERRUPTED
            if started.tzinfo is None:
                raise ValueError("its start has no zone")  # noqa: TRY301  (told below, as what else is wrong)
        except FileNotFoundError:  # it is gone, has not started yet, or never did
            return None
        except OSError as error:
            self.problems.append(f"{file} cannot be read: {_why(error)}")
            return None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.problems.append(f"{file} is not whole")
            return None
        return PastRun(path, about, started, result)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def contents(file: Path, limit: int) -> bytes:
    """The file's first `limit` bytes; FileNotFoundError and other OSError, also for a symlink."""
    descriptor = os.open(file, _FILE)
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read(limit)


def events_of(artifacts: Path, problems: list[str]) -> Iterator[Mapping[str, Any]]:
    """The events of a run, in order; what cannot be read is left out, and told of in `problems`."""
    directory = artifacts / "job_events"
    try:
        names = [entry.name for entry in directory.iterdir() if _EVENT.fullmatch(entry.name)]
    except OSError as error:
        problems.append(f"{directory} cannot be read: {_why(error)}")
        return
    for name in sorted(names, key=lambda name: int(name.partition("-")[0])):
        try:
            event = json.loads(contents(directory / name, _LONGEST_EVENT))
        except OSError as error:
            problems.append(f"{directory / name} cannot be read: {_why(error)}")
        except (ValueError, RecursionError):
            problems.append(f"{directory / name} is not whole")
        else:
            if isinstance(event, Mapping):
                yield event


def places(usual: Path, processes: Path = Path("/proc")) -> list[Path]:
    """The roots of runs on this machine, of those that there are.

    They are those of the operators that run here, by their command lines, or else the `usual` one; and this user's
    own, which is taken in their place where they cannot be had.
    """
    found = [
        root
        for wanted in _named_by(processes, usual) or [usual]
        for root in (wanted, of_user())
        if _is_there(root)
    ]
    return list(dict.fromkeys(root.resolve() for root in found))


def _is_there(root: Path) -> bool:
    try:
        return root.is_dir()
    except OSError:  # where this user may not even look, there is nothing to read
        return False


def _named_by(processes: Path, usual: Path) -> list[Path]:
    """The `--runner-dir` of operators' processes; a relative one is as they would open it."""
    found: list[Path] = []
    for process in processes.glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is somebody else's
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            given = named_in(words, str(usual))
            if given:
                found.append(Path(given) if given.startswith("/") else (process / "cwd").readlink() / given)
    return found


def named_in(words: list[str], usual: str) -> str:
    """The value of `--runner-dir` in the command line of an operator; nothing for any other program's."""
    for place, word in enumerate(words[:-1]):
        if word.endswith(("ansible-operator", "runner", "runner/__main__.py")) and words[place + 1] == "run":
            joined = "\0".join(words[place + 2 :]).replace("--runner-dir\0", "--runner-dir=").split("\0")
            given = [option.partition("=")[2] for option in joined if option.startswith("--runner-dir=")]
            return given[-1] if given else usual
    return ""


def shortest(idents: Iterable[str], least: int = 7) -> Callable[[str], str]:
    """Cuts an ID to as many characters as tell all of these apart."""
    known = set(idents)
    length = next(cut for cut in count(least) if len({ident[:cut] for ident in known}) == len(known))
    return lambda ident: ident[:length]


def _is_locked(lock: Path) -> bool:
    """Whether a run holds it. Asking takes it for a moment, which an operator that wants it waits out."""
    try:
        descriptor = os.open(lock, _FILE)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _line(value: object) -> str:
    return "" if value is None else " ".join(visible(str(value)).split())


def _why(error: OSError) -> str:
    text = error.strerror or str(error)
    return f"{text}: ask as the user who runs the operator" if isinstance(error, PermissionError) else text
