"""What a command writes into a project: new files, and entries at marked places. All of it, or nothing."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copytree, ignore_patterns

from runner.errors import SettingsError

PREFIX = "# +ansible-operator:"
_LEFT_OUT = ignore_patterns(".git", ".cache", "__pycache__", "*.pyc")


class Changes:
    """Writes into `project` and remembers what was there, until it is known that all of it could be written."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._before: dict[Path, str | None] = {}
        self._made: list[Path] = []

    def create(self, files: Mapping[Path, str]) -> None:
        """Write new files. Raises SettingsError, and writes none, where one is there already."""
        refuse([*existing(self._project, files)])
        for path, text in files.items():
            self._write(path, text)

    def copy(self, source: Path, target: Path) -> None:
        """Copy a directory to one that is not there yet."""
        refuse([*existing(self._project, [target])])
        try:
            self._make([self._project / target, *(self._project / target).parents])
            copytree(source, self._project / target, ignore=_LEFT_OUT, dirs_exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{source} cannot be copied to {target}: {error}") from error
        finally:
            for path in sorted((self._project / target).rglob("*")):
                if path.is_dir():
                    self._made.append(path)
                else:
                    self._before[path.relative_to(self._project)] = None

    def replace(self, path: Path, text: str) -> None:
        """Write a file that is made from others, whatever it holds."""
        if self.read(path) != text:
            self._write(path, text)

    def insert(self, path: Path, place: str, entry: str) -> None:
        """Put an entry at a marked place. Raises SettingsError where it is not marked."""
        refuse([*unmarked(self._project, [(path, place)])])
        self.replace(path, inserted(self.read(path), place, entry))

    def read(self, path: Path) -> str:
        """The text of a file; nothing where there is none."""
        return _read(self._project / path) or ""

    def undo(self) -> Iterator[str]:
        """Bring back what was there; what could not be."""
        for path, text in self._before.items():
            try:
                _bring_back(self._project / path, text)
            except OSError as error:
                yield f"{path} could not be brought back: {error.strerror}"
        for directory in reversed(self._made):
            try:
                directory.rmdir()
            except OSError as error:
                yield f"{directory} could not be removed: {error.strerror}"

    def report(self) -> str:
        """A line a file: whether it is new, and its path."""
        return "".join(
            f"{'created' if text is None else 'changed'}  {path}\n" for path, text in self._before.items()
        )

    def _write(self, path: Path, text: str) -> None:
        target = self._project / path
        before = _read(target)
        try:
            self._make(target.parents)
            _write(target, text)
        except OSError as error:
            raise SettingsError(f"{path} cannot be written: {error.strerror}") from error
        self._before.setdefault(path, before)

    def _make(self, directories: Sequence[Path]) -> None:
        """Those that are missing, given from the innermost outwards."""
        for directory in reversed([directory for directory in directories if not directory.exists()]):
            directory.mkdir()
            self._made.append(directory)


@contextmanager
def changing(project: Path) -> Iterator[Changes]:
    """Changes that are undone where the block ends with an error, and reported where it does not."""
    changes = Changes(project)
    try:
        yield changes
    except BaseException as error:
        if problems := [*changes.undo()]:
            raise SettingsError("\n".join([str(error) or type(error).__name__, *problems])) from error
        raise
    sys.stdout.write(changes.report())


def existing(project: Path, files: Iterable[Path]) -> Iterator[str]:
    """What is wrong with creating these files."""
    for path in files:
        if (project / path).exists():
            yield f"{path} is there already, and nothing is overwritten"


def unmarked(project: Path, places: Iterable[tuple[Path, str]]) -> Iterator[str]:
    """What is wrong with putting entries at these places, each a file and the name of its mark."""
    for path, place in places:
        text = _read(project / path)
        if text is None:
            yield f"{path} is not there: `ansible-operator init` makes it"
        elif not is_marked(text, place):
            yield f"{path} has no line `{mark(place)}`: put it where the new entry shall stand"


def mark(place: str) -> str:
    """The comment that marks a place in a file, above which entries are put."""
    return PREFIX + place


def is_marked(text: str, place: str) -> bool:
    return _line(place).search(text) is not None


def inserted(text: str, place: str, entry: str) -> str:
    """`text` with `entry` above the marked place, indented as the mark is; unchanged if the entry is there.

    Raises ValueError where the place is not marked.
    """
    found = _line(place).search(text)
    if found is None:
        raise ValueError(place)
    indented = "".join(f"{found[1]}{line}".rstrip() + "\n" for line in entry.splitlines())
    if re.search(rf"^{re.escape(indented)}", text, re.MULTILINE):
        return text
    return text[: found.start()] + indented + text[found.start() :]


def _line(place: str) -> re.Pattern[str]:
    return re.compile(rf"^([ ]*){re.escape(mark(place))}[ ]*$", re.MULTILINE)


def refuse(problems: list[str]) -> None:
    """Raises SettingsError where there are any."""
    if problems:
        raise SettingsError("\n".join([*problems, "Nothing was changed."]))


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error


def _bring_back(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink(missing_ok=True)
    else:
        _write(path, text)


def _dress(path: Path, example: Path) -> None:
    """Give it the mode and, where that is allowed, the owner of the other."""
    status = example.stat()
    with suppress(PermissionError):
        os.chown(path, status.st_uid, status.st_gid)
    path.chmod(status.st_mode & 0o7777)


def _write(path: Path, text: str) -> None:
    """All of it, or what was there stays: a disk may be full."""
    path = path.resolve()
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        if path.exists():
            _dress(unfinished, path)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
