"""What every test may use."""

from __future__ import annotations

import pytest

pytest_plugins = [f"tests.fixtures.{name}" for name in ("cluster", "operators", "containers", "terminal")]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("parity", "the rows of tests/parity")
    group.addoption("--operator", default="", help="the executable to check instead of this repository's")
    group.addoption("--parity-go", action="store_true", help="leave out the Go operator's defects that are mended")
    pages = parser.getgroup("docs", "the commands of the documentation")
    pages.addoption("--empty-cache", action="store_true", help="have the pages get the control plane's programs")
