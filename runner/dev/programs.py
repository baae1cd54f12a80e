"""Where the control plane's programs come from: this machine, a release, or Go modules."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from runner.dev import checksums, download, gobuild
from runner.dev.processes import locked_file
from runner.dev.progress import Progress, progress_on_stderr
from runner.dev.releases import VERSIONS
from runner.errors import BinariesError

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
KWOK = ("kwok",)
ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"
MIRROR_VARIABLE = "ANSIBLE_OPERATOR_DEV_MIRROR"

Found = Mapping[str, Path]


@dataclass(frozen=True)
class Programs:
    """Each program by its name."""

    paths: Found

    def path(self, name: str) -> Path:
        """The file of the program called `name`."""
        return self.paths[name]


@dataclass(frozen=True)
class Search:
    """What a person chose: a directory to look in first, another server to download from.

    Without them, KUBEBUILDER_ASSETS and ANSIBLE_OPERATOR_DEV_MIRROR are looked at. With `obtain` false
    nothing is downloaded or built.
    """

    explicit: Path | None = None
    mirror: str | None = None
    obtain: bool = True
    progress: Progress = field(default_factory=progress_on_stderr)


@dataclass(frozen=True)
class Place:
    """A place to look in: its name for people, and how to find a program there."""

    name: str
    find: Callable[[str], Path | None]


def find_programs(search: Search | None = None) -> Programs:
    """Every program of the control plane; what is in no place is downloaded, else built, into the cache.

    Raises BinariesError that names every place and why it had none.
    """
    search = search or Search()
    if search.explicit is not None and not search.explicit.is_dir():
        raise BinariesError(f"{search.explicit}: no such directory; --binaries wants one that holds programs")
    paths: dict[str, Path] = {}
    for group in (CONTROL_PLANE, KWOK):
        paths.update(_find(group, search))
    return Programs(paths)


def cache_directory() -> Path:
    """Where downloaded and built programs are kept, by their versions."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "ansible-operator-runner" / str(VERSIONS)


def places(explicit: Path | None) -> Iterator[Place]:
    """The places where programs may be already, in order."""
    assets = os.environ.get(ASSETS_VARIABLE)
    if explicit is not None:
        yield _directory("--binaries", explicit)
    elif assets:
        yield _directory(ASSETS_VARIABLE, Path(assets))
    yield Place("PATH", lambda name: Path(found) if (found := shutil.which(name)) else None)
    yield _cache()


def _cache() -> Place:
    directory = cache_directory()
    return Place(f"cache ({directory})", partial(_checked, directory.absolute()))


def _checked(directory: Path, name: str) -> Path | None:
    """A program of the cache, if it matches its recorded checksum; warns of one that does not."""
    file = _executable(directory, name)
    if file is None or checksums.matches(file):
        return file
    sys.stderr.write(
        f"{file} is not what was downloaded or built: its SHA-256 differs from the recorded one; not used\n"
    )
    return None


def _discard_changed(directory: Path, names: tuple[str, ...]) -> None:
    for file in filter(None, (_executable(directory, name) for name in names)):
        if not checksums.matches(file):
            checksums.discard(file)


def _directory(name: str, directory: Path) -> Place:
    return Place(f"{name} ({directory})", partial(_executable, directory.absolute()))


def _executable(directory: Path, name: str) -> Path | None:
    file = directory / name
    return file if file.is_file() and os.access(file, os.X_OK) else None


def _find(group: tuple[str, ...], search: Search) -> Found:
    tried: list[str] = []
    for place in places(search.explicit):
        found = _look(place, group, tried)
        if found:
            return found
    if search.obtain:
        return _obtain(group, search, tried)
    raise _none(group, tried)


def _look(place: Place, group: tuple[str, ...], tried: list[str]) -> Found | None:
    found = {name: place.find(name) for name in group}
    missing = [name for name, path in found.items() if path is None]
    if not missing:
        return {name: path for name, path in found.items() if path is not None}
    tried.append(f"{place.name}: no {', '.join(missing)}")
    return None


def _obtain(group: tuple[str, ...], search: Search, tried: list[str]) -> Found:
    cache = cache_directory()
    in_cache = _cache()
    mirror = search.mirror or os.environ.get(MIRROR_VARIABLE)
    sources: tuple[tuple[str, Callable[[], None]], ...] = (
        ("download", partial(download.download, group, cache, mirror, search.progress)),
        ("go build", partial(gobuild.build, group, cache, search.progress)),
    )
    with locked_file(cache.with_name(cache.name + ".lock")):
        _discard_changed(cache, group)
        # Somebody else may have obtained them while we waited for the lock.
        found = _look(in_cache, group, [])
        for name, obtain in sources:
            if found:
                break
            try:
                obtain()
            except BinariesError as error:
                tried.append(f"{name}: {error}")
            found = _look(in_cache, group, [])
    if not found:
        raise _none(group, tried)
    return found


def _none(group: tuple[str, ...], tried: list[str]) -> BinariesError:
    lines = "\n".join(f"  {line}" for line in tried)
    return BinariesError(
        f"no place has {', '.join(group)} (all of them from one place); tried, in order:\n{lines}\n"
        f"Put them on PATH, or name their directory with --binaries or {ASSETS_VARIABLE}."
    )
