"""The node's cgroups: a child in every hierarchy of version 1, or one of version 2, removed with all below.

Of version 2, a group that gives controllers to its children has no process, but for the root of all. So the node's
group is a child of the root, and what the node itself runs is in a leaf of it, beside the pods.
"""

from __future__ import annotations

import time
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

REMOVED_WITHIN = 10.0
LEAF = "init"
# A new child has none of them, and takes no process before it has.
INHERITED = ("cpuset.cpus", "cpuset.mems")


@dataclass(frozen=True)
class Hierarchy:
    """One hierarchy: its controllers (or its name), where it is mounted, and the path below which the node's is.

    Without options it is that of version 2.
    """

    options: str
    mount: Path
    path: str

    @property
    def unified(self) -> bool:
        """Whether it is of version 2."""
        return not self.options

    def child(self, name: str) -> Path:
        """The directory of the child called `name`."""
        return self.mount / self.path.lstrip("/") / name

    def leaf(self, name: str) -> Path:
        """Where the processes of that child are."""
        return self.child(name) / LEAF if self.unified else self.child(name)


def hierarchies(mounts: str, memberships: str) -> tuple[Hierarchy, ...]:
    """From the texts of /proc/self/mounts and /proc/self/cgroup; that of version 2 only where it is alone."""
    found = []
    for line in memberships.splitlines():
        _, options, path = line.split(":", 2)
        mount = _mount(mounts, set(options.split(",")))
        if options and mount is not None:
            found.append(Hierarchy(options, mount, path))
    return tuple(found) or tuple(Hierarchy("", mount, "/") for mount in _mounts(mounts, "cgroup2"))


def _mount(mounts: str, controllers: set[str]) -> Path | None:
    return next(iter(_mounts(mounts, "cgroup", controllers)), None)


def _mounts(mounts: str, wanted: str, controllers: Set[str] = frozenset()) -> list[Path]:
    lines = (line.split() for line in mounts.splitlines())
    return [
        Path(place)
        for _, place, kind, options, *_ in lines
        if kind == wanted and controllers <= set(options.split(","))
    ]


def own() -> tuple[Hierarchy, ...]:
    """Those of this process."""
    return hierarchies(Path("/proc/self/mounts").read_text(), Path("/proc/self/cgroup").read_text())


def make(of: Sequence[Hierarchy], name: str) -> None:
    """Make the child called `name` in each, ready to take processes. Raises OSError."""
    for hierarchy in of:
        child = hierarchy.child(name)
        if hierarchy.unified:
            # What others have enabled stays; this does, too, when the child is gone.
            enabled = (child.parent / "cgroup.controllers").read_text().split()
            (child.parent / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in enabled))
        hierarchy.leaf(name).mkdir(parents=True, exist_ok=True)
        for inherited in () if hierarchy.unified else INHERITED:
            if (child / inherited).exists():
                (child / inherited).write_text((child.parent / inherited).read_text())


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
