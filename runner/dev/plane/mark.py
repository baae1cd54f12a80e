"""Whose a directory is: a control plane's is marked, and of it only what a control plane makes is ever removed."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from runner.dev.plane import certificates, state
from runner.dev.plane.components import NAMES
from runner.dev.plane.layout import Layout
from runner.errors import DevError

TEXT = "Made by `ansible-operator dev up`; `ansible-operator dev down` removes what that has made here.\n"


def check(layout: Layout) -> bool:
    """Whether the directory is a control plane's; False for an empty one, which can become one.

    Raises DevError for anybody else's, and for one where others could put records and links for us to follow.
    """
    directory = layout.directory
    found = directory.stat()
    if found.st_uid != os.geteuid():
        raise DevError(f"{directory}: belongs to another user; give --dir a directory of your own")
    if found.st_mode & stat.S_IWOTH:
        raise DevError(f"{directory}: others may write there; `chmod o-w` it, or give --dir another directory")
    # Versions before the mark have left their state alone.
    if layout.mark.is_file() or state.read(layout.state) is not None:
        return True
    if any(directory.iterdir()):
        raise DevError(
            f"{directory}: is not empty and was not made by `ansible-operator dev up`, so nothing in it is "
            "touched; give --dir an empty or a new directory"
        )
    return False


def put(layout: Layout) -> None:
    """Mark the directory as a control plane's; before anything else is made in it."""
    layout.mark.write_text(TEXT)


def remove(layout: Layout) -> None:
    """Remove what a control plane makes, but for the mark. Links are not followed; what else is there stays."""
    if not layout.data.is_symlink():
        shutil.rmtree(layout.data / "member", ignore_errors=True)  # etcd's only entry there
    for file in _files(layout):
        if not file.parent.is_symlink() or file.parent == layout.directory:
            with suppress(OSError):  # not there, or a directory, which is none of ours
                file.unlink()
    for directory in (*_certificates(layout), layout.config, layout.data, layout.logs, layout.run):
        with suppress(OSError):  # not there, a link, or not empty
            directory.rmdir()


def _files(layout: Layout) -> Iterator[Path]:
    for directory in _certificates(layout):
        yield from (directory / name for name in certificates.FILES)
    for name in NAMES:
        yield from (layout.component_kubeconfig(name), layout.log(name), layout.record(name))
        yield _partial(layout.component_kubeconfig(name))
    yield from (layout.audit_policy, layout.audit_log)
    for file in (layout.kubeconfig, layout.state):
        yield from (file, _partial(file))


def _certificates(layout: Layout) -> tuple[Path, Path]:
    return layout.certificates, _partial(layout.certificates)


def _partial(path: Path) -> Path:
    """What becomes `path` once it is whole; left behind by a start that was killed."""
    return path.with_name(path.name + ".partial")
