"""The directories that a case is run in: the same paths always, so that runs may be compared letter by letter."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from runner.objects import GroupVersionKind, ObjectKey
from tests.corpus.case import METADATA

KEY = ObjectKey(GroupVersionKind("corpus.example.com", "v1", "Case"), "default", "one")
_OVERLAYS = ("home", "work", "rundir")


@dataclass(frozen=True, slots=True)
class Stage:
    """`project` is the copy of a case, `work` where it leaves its side effects, `home` its HOME.

    Of a case, `home/`, `work/` and `rundir/` are what those directories (and the object's run directory) hold
    before the run.
    """

    root: Path

    @property
    def runner(self) -> Path:
        return self.root / "runner"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def rundir(self) -> Path:
        return self.runner / "corpus.example.com/v1/Case/default/one"

    @property
    def values(self) -> Mapping[str, str]:
        """What `case.yml` may name."""
        return {
            **{name: str(getattr(self, name)) for name in ("project", "work", "home", "rundir")},
            "python": sys.executable,
        }

    def lay_out(self, source: Path) -> None:
        """Put a fresh copy of the project `source` in place, and empty what the last run filled."""
        for place in (self.project, self.work, self.home, self.rundir):
            shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(
            source, self.project, symlinks=True, ignore=shutil.ignore_patterns(METADATA, "__pycache__", *_OVERLAYS)
        )
        for name in ("home", "work"):
            getattr(self, name).mkdir(mode=0o755)
        for name in _OVERLAYS:
            if (source / name).is_dir():
                shutil.copytree(source / name, getattr(self, name), dirs_exist_ok=True)

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """What the executor adds to the environment; it marks every process, so that none is overlooked."""
        same_in_every_test = {"PYTEST_CURRENT_TEST": ""}  # else each has zygotes of its own
        return {"HOME": str(self.home), "CORPUS_MARKER": self.root.name, **same_in_every_test, **(more or {})}

    def processes(self) -> set[int]:
        """The processes of this stage that are alive, wherever they went."""
        mark = f"CORPUS_MARKER={self.root.name}".encode()
        return {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _has(entry, mark)}


def new(parent: Path) -> Stage:
    """An empty stage with a name of its own."""
    stage = Stage(parent / f"stage-{uuid4().hex[:8]}")
    stage.root.mkdir(mode=0o700)
    return stage


def _has(process: Path, mark: bytes) -> bool:
    try:
        return mark in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
