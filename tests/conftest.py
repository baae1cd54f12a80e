"""What every test may use."""

from __future__ import annotations

pytest_plugins = ["tests.fixtures.cluster", "tests.fixtures.operators", "tests.fixtures.containers"]
