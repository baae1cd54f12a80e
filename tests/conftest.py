"""What every test may use."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
SLOW = {"robustness", "perf"}
FIXTURES = ("cluster", "operators", "containers", "terminal", "groups")
pytest_plugins = [f"tests.fixtures.{name}" for name in FIXTURES]

# Others may share the processors: how long an example takes says nothing.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("parity", "the rows of tests/parity")
    group.addoption("--operator", default="", help="the executable to check instead of this repository's")
    group.addoption("--parity-go", action="store_true", help="leave out the Go operator's defects that are mended")
    pages = parser.getgroup("docs", "the commands of the documentation")
    pages.addoption("--empty-cache", action="store_true", help="have the pages get the control plane's programs")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SLOW & set(item.path.relative_to(TESTS).parts):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _logs_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test inherits how another one configured the logs, nor a logger that keeps it."""
    configure, root = structlog.configure, logging.getLogger()
    before, level = structlog.get_config(), root.level
    monkeypatch.setattr(
        structlog, "configure", lambda **how: configure(**{**how, "cache_logger_on_first_use": False})
    )
    handlers = list(root.handlers)
    yield
    configure(**before)
    root.handlers, root.level = handlers, level
