"""Who watches while there is trouble, for every test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.observer import Observer
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import Project
from tests.fixtures.watcher import Watcher, watched, watching


@pytest.fixture
def book(project: Project) -> Path:
    """The ledger of the role that every Thing has."""
    return watched(project)


@pytest.fixture
def watcher(control_plane: ControlPlane, observer: Observer, book: Path) -> Iterator[Watcher]:
    with watching(control_plane, observer, book) as it:
        yield it
