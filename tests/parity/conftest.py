"""The batches: each is observed once a session, when the first row asks for it."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runner.dev.controlplane import ControlPlane
from tests.parity.cluster import Cluster
from tests.parity.rows import Row
from tests.parity.stage import Stage


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`--parity-go` leaves out the rows of defects that are mended here."""
    if not config.getoption("--parity-go"):
        return
    mended = [item for item in items if isinstance(item, pytest.Function) and _is_mended(item)]
    config.hook.pytest_deselected(items=mended)
    items[:] = [item for item in items if item not in mended]


def _is_mended(item: pytest.Function) -> bool:
    row = item.callspec.params.get("row") if hasattr(item, "callspec") else None
    return isinstance(row, Row) and row.mended


class Observed(dict[str, Any]):
    """Facts, as many as a batch got; whoever asks for another learns why it is missing."""

    problem: BaseException | None = None
    vain: tuple[str, ...] = ()

    def __missing__(self, key: str) -> Any:
        raise AssertionError(f"{key!r} was not observed; waited in vain for {self.vain}") from self.problem


@pytest.fixture(scope="session")
def operator_command(request: pytest.FixtureRequest) -> tuple[str, ...]:
    given = str(request.config.getoption("--operator"))
    return tuple(shlex.split(given)) if given else (sys.executable, "-m", "runner")


@pytest.fixture(scope="session")
def observed(
    control_plane: ControlPlane, operator_command: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Observed]]:
    """Gives the facts of a batch by its name."""
    directory = tmp_path_factory.mktemp("parity")
    cluster = Cluster(control_plane.kubeconfig, directory)
    known: dict[str, Observed] = {}

    def facts_of(batch: str) -> Observed:
        if batch not in known:
            known[batch] = Observed()
            stage = Stage(batch, cluster, control_plane.kubeconfig, directory / batch, operator_command)
            try:
                importlib.import_module(f"tests.parity.batches.{batch}").observe(stage, known[batch])
            except Exception as error:  # noqa: BLE001  (told to every row that misses a fact)
                known[batch].problem = error
            finally:
                known[batch].vain = tuple(stage.vain)
                stage.close()
        return known[batch]

    yield facts_of
    cluster.close()
