"""The directory of one control plane: marked as ours, and what is known of its state."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from runner.dev import certificates
from runner.dev.components import NAMES, AuditLevel, Options
from runner.dev.layout import Layout, Ports
from runner.errors import DevError

TEXT = "Made by `ansible-operator dev up`; `ansible-operator dev down` removes what that has made here.\n"
_MADE = "made: "
"""In the mark, before the topmost directory that a start has made; nothing behind it: all were there before."""
AS = "as-"
"""What the kubeconfigs of `dev kubeconfig --as` begin with."""


@dataclass(frozen=True)
class State:
    """The ports and options of a start; `ready` once it has gone through to its end."""

    ports: Ports
    options: Options
    ready: bool


def read_state(file: Path) -> State | None:
    """The state in `file`; None where there is none, or none that makes sense."""
    try:
        content = json.loads(file.read_text())
        audit = content["options"]["audit"]
        options = Options(
            keep=bool(content["options"]["keep"]),
            audit=AuditLevel(audit) if audit is not None else None,
            address=content["options"].get("address"),
        )
        return State(Ports(**content["ports"]), options, bool(content["ready"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_state(file: Path, state: State) -> None:
    """Replace `file` as a whole."""
    partial = file.with_name(file.name + ".partial")
    partial.write_text(json.dumps(asdict(state), indent=2) + "\n")
    partial.rename(file)


def check_mark(layout: Layout) -> bool:
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
    if layout.mark.is_file() or read_state(layout.state) is not None:
        return True
    if any(directory.iterdir()):
        raise DevError(
            f"{directory}: is not empty and was not made by `ansible-operator dev up`, so nothing in it is "
            "touched; give --dir an empty or a new directory"
        )
    return False


def first_missing(directory: Path) -> Path | None:
    """The topmost directory that has to be made for this one to be there; None where it is."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    return missing[-1] if missing else None


def put_mark(layout: Layout, made: Path | None = None) -> None:
    """Mark the directory as a control plane's; before anything else is made in it. `made` is `first_missing`'s."""
    if not layout.mark.exists():
        layout.mark.write_text(f"{TEXT}{_MADE}{made or ''}\n")


def remove_directory(layout: Layout, made: Path | None = None) -> None:
    """Remove the mark, and the directories that were made for this one as far as they are empty now."""
    made = made or _made(layout)
    layout.mark.unlink(missing_ok=True)
    for path in (layout.directory, *layout.directory.parents):
        if made is None or not path.is_relative_to(made):
            return
        try:
            path.rmdir()
        except OSError:  # somebody else's file in it: the directory stays
            return


def _made(layout: Layout) -> Path | None:
    with suppress(OSError):
        for line in layout.mark.read_text().splitlines():
            if line.startswith(_MADE):
                return Path(line.removeprefix(_MADE)) if line != _MADE else None
    return layout.directory  # earlier versions did not say


def remove_files(layout: Layout) -> None:
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
    yield from (layout.audit_policy, layout.audit_log, layout.pod_logs, layout.pod_log, layout.operator_log)
    yield from layout.config.glob(f"{AS}*.kubeconfig*")
    for file in (layout.kubeconfig, layout.state):
        yield from (file, _partial(file))


def _certificates(layout: Layout) -> tuple[Path, Path]:
    return layout.certificates, _partial(layout.certificates)


def _partial(path: Path) -> Path:
    """What becomes `path` once it is whole; left behind by a start that was killed."""
    return path.with_name(path.name + ".partial")
