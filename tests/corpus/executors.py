"""The ways of running Ansible that the corpus compares: one function for each, all with the same parameters.

To add one, write such a function and name it in `OTHERS`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from runner.config.watches import Engine
from runner.execute.executor import Executor
from runner.execute.outcome import Outcome
from runner.execute.run import Run, Sink

Make = Callable[[Path, Mapping[str, str]], AbstractAsyncContextManager[Executor]]
"""Given the runner directory and the environment of every run, an executor; it ends with the context."""


class Cold(Executor):
    """Starts every run cold, whatever it asks for."""

    async def run(self, run: Run, sink: Sink = lambda _run, _event: None) -> Outcome:
        return await super().run(replace(run, engine=Engine.COLD), sink)


@asynccontextmanager
async def cold(runner_dir: Path, environment: Mapping[str, str]) -> AsyncIterator[Executor]:
    """A fresh ansible-playbook for every run: what the others must equal."""
    yield Cold(runner_dir, environment)


@asynccontextmanager
async def warm(runner_dir: Path, environment: Mapping[str, str]) -> AsyncIterator[Executor]:
    """Runs forked from processes that have imported Ansible."""
    executor = Executor(runner_dir, environment)
    yield executor
    await executor.close()


OTHERS: Mapping[str, Make] = {"warm": warm}
"""What is compared with `cold`. With `cold` in it, too, one sees whether stock Ansible is the same twice."""

REPEATS: Mapping[str, int] = {"warm": 2}
"""How often in a row an executor runs a case, each compared: the second run finds what the first has left warm."""

OWN_ARTIFACTS: frozenset[str] = frozenset({"engine", "run.json"})
"""Files of `artifacts/<ident>/` in which the operator says how and why it ran; they are not compared."""


def served_by(artifacts: Path) -> str:
    """How the run was started, `warm` or `cold`, as its artifacts say."""
    return (artifacts / "engine").read_text().partition(":")[0]
