"""Fixtures of the contract tests: real sockets, scripted answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contract import standin
from tests.fixtures.leaks import leaks_are_collected, only_new_objects_are_collected

__all__ = ["bench", "leaks_are_collected", "only_new_objects_are_collected"]


@pytest.fixture
async def bench() -> AsyncIterator[standin.Bench]:
    async with standin.bench() as it:
        yield it
