"""The demo, as `make demo` runs it; it checks its steps itself."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.fixtures.commands import run_to_end

ROOT = Path(__file__).parents[2]


@pytest.mark.cluster
@pytest.mark.timeout(400)
def test_every_step_of_the_demo_comes_true_and_shows_what_was_typed_and_what_came_of_it(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    demo = run_to_end([sys.executable, "-m", "bench.demo"], ROOT, environment, tmp_path, seconds=360)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert len(re.findall(r"was put back in [\d.]+ s", demo.stdout)) == 3
    assert "because  Deployment default/helloapp-sample changed by kubectl: spec.replicas" in demo.stdout
    assert "A run would change 1 object: Deployment default/memcached-sample: spec.replicas" in demo.stdout
    assert re.search(r"created: cold [\d.]+ s   warm [\d.]+ s", demo.stdout)
    assert re.search(r"Warning +ReconcileFailed +spec.image 'not an image' is not", demo.stdout)
