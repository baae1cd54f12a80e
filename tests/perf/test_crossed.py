"""How much of the code one has to read to follow one change of a custom resource."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.crossed import crossed
from runner.dev.controlplane import ControlPlane
from tests.fixtures.ansible_release import only_where_warm

pytestmark = [pytest.mark.cluster, only_where_warm]

MOST = 59
"""55 until reasons of runs were known, 57 until the root of run directories had one, 58 until bytes on disk."""


def test_a_warm_reconcile_crosses_a_bounded_number_of_modules(control_plane: ControlPlane, tmp_path: Path) -> None:
    modules = crossed(control_plane, tmp_path)
    assert {
        "control/worker.py",
        "execute/executor.py",
        "serve/proxy.py",
    } <= modules  # it was traced in the operator
    assert {"execute/fork/inside/plays.py", "execute/fork/inside/modules.py"} <= modules  # and in what it forks
    assert len(modules) <= MOST, sorted(modules)
