"""Children of this process's cgroup, one in every hierarchy of version 1: made, and removed with all below."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

REMOVED_WITHIN = 10.0
# A new child has none of them, and takes no process before it has.
INHERITED = ("cpuset.cpus", "cpuset.mems")


@dataclass(frozen=True)
class Hierarchy:
    """One hierarchy: its controllers (or its name), where it is mounted, and the path of this process in it."""

    options: str
    mount: Path
    path: str

    def child(self, name: str) -> Path:
        """The directory of the child called `name`."""
        return self.mount / self.path.lstrip("/") / name


def hierarchies(mounts: str, memberships: str) -> tuple[Hierarchy, ...]:
    """From the texts of /proc/self/mounts and /proc/self/cgroup; the unified hierarchy is none of them."""
    found = []
    for line in memberships.splitlines():
        _, options, path = line.split(":", 2)
        mount = _mount(mounts, set(options.split(",")))
        if options and mount is not None:
            found.append(Hierarchy(options, mount, path))
    return tuple(found)


def _mount(mounts: str, controllers: set[str]) -> Path | None:
    for line in mounts.splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup" and controllers <= set(options.split(",")):
            return Path(place)
    return None


def own() -> tuple[Hierarchy, ...]:
    """Those of this process."""
    return hierarchies(Path("/proc/self/mounts").read_text(), Path("/proc/self/cgroup").read_text())


def make(children: Sequence[Path]) -> None:
    """Make each of them, ready to take processes."""
    for child in children:
        child.mkdir(exist_ok=True)
        for name in INHERITED:
            if (child / name).exists():
                (child / name).write_text((child.parent / name).read_text())


def remove(children: Sequence[Path]) -> None:
    """Remove each with all below it, as soon as no process is left there. Raises OSError after ten seconds."""
    deadline = time.monotonic() + REMOVED_WITHIN
    for child in children:
        if not child.is_dir():
            continue
        below = sorted((path for path in child.rglob("*") if path.is_dir()), reverse=True)
        for directory in (*below, child):
            _remove(directory, deadline)


def _remove(directory: Path, deadline: float) -> None:
    while True:
        try:
            directory.rmdir()
        except OSError:  # busy: its last process is not yet reaped
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
