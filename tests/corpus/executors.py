"""The ways of running Ansible that the corpus compares: one function for each, all with the same parameters.

To add one, write such a function and name it in `OTHERS`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from runner.execute.process import ColdExecutor
from runner.execute.run import Executor

Make = Callable[[Path, Mapping[str, str]], AbstractAsyncContextManager[Executor]]
"""Given the runner directory and the environment of every run, an executor; it ends with the context."""


@asynccontextmanager
async def cold(runner_dir: Path, environment: Mapping[str, str]) -> AsyncIterator[Executor]:
    """A fresh ansible-playbook for every run: what the others must equal."""
    yield ColdExecutor(runner_dir, environment)


# The place to plug in the warm executor: a function like `cold`, named here instead of `cold again`.
OTHERS: Mapping[str, Make] = {"cold again": cold}
"""What is compared with `cold`. A second cold run shows that stock Ansible itself is the same twice."""

REPEATS: Mapping[str, int] = {"cold again": 1}
"""How often in a row an executor runs a case, each compared: the second run finds what the first has left warm."""

OWN_ARTIFACTS: frozenset[str] = frozenset()
"""Files of `artifacts/<ident>/` that say which executor ran; they are not compared."""


def served_by(artifacts: Path) -> str | None:
    """How the run was served (`warm`, `plugin`, `cold`), as its artifacts say; None where they say nothing."""
    del artifacts
    return None
