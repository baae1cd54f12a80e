"""Fixtures of the corpus: where it runs, and what some cases talk to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest

from tests.corpus import stage as stages
from tests.corpus.webserver import WebServer

collect_ignore = ["cases", "sequences"]


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> stages.Stage:
    """The same paths for the whole session."""
    return stages.new(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def http() -> Iterator[Mapping[str, str]]:
    """The address of a web server, as `case.yml` may name it."""
    with closing(WebServer()) as server:
        yield {"http": server.address}
