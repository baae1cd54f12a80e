"""Fixtures of the corpus: where it runs, with which executors, and what some cases talk to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing

import pytest
import pytest_asyncio

from tests.corpus import stage as stages
from tests.corpus.executors import Executors
from tests.corpus.trial import Trial
from tests.corpus.webserver import WebServer

collect_ignore = ["cases", "sequences"]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def trial(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Trial]:
    """The same paths and the same executors for the whole session."""
    stage = stages.new(tmp_path_factory.mktemp("corpus"))
    executors = Executors(stage.runner)
    yield Trial(stage, executors)
    await executors.close()
    assert stage.processes() == set()


@pytest.fixture(scope="session")
def http() -> Iterator[Mapping[str, str]]:
    """The address of a web server, as `case.yml` may name it."""
    with closing(WebServer()) as server:
        yield {"http": server.address}
