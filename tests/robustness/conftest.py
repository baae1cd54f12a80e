"""Who watches while there is trouble, and who makes it, for every test that asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.observer import Observer
from runner.dev.controlplane import ControlPlane
from tests.fixtures.gateway import Gateway, gateway
from tests.fixtures.operators import Project
from tests.fixtures.watcher import Watcher, watched, watching

LONGEST = "test_soak.py"


@pytest.fixture
def book(project: Project) -> Path:
    """The ledger of the role that every Thing has."""
    return watched(project)


@pytest.fixture
def watcher(control_plane: ControlPlane, observer: Observer, book: Path) -> Iterator[Watcher]:
    with watching(control_plane, observer, book) as it:
        yield it


@pytest.fixture
def between(control_plane: ControlPlane) -> Iterator[Gateway]:
    """Stands between the API server and an operator that logs in there."""
    with gateway(control_plane) as it:
        yield it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first: of several processes one would be left alone with it."""
    items.sort(key=lambda item: item.path.name != LONGEST)
