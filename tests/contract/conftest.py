"""Fixtures of the contract tests: real sockets, scripted answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contract import standin


@pytest.fixture
async def bench() -> AsyncIterator[standin.Bench]:
    async with standin.bench() as it:
        yield it
