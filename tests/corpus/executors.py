"""The ways of running Ansible that the corpus compares, and their executors, which all cases of a session share.

To add a way, write a factory of executors and name it in `OTHERS`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from runner.config.watches import Engine
from runner.execute.executor import Executor
from runner.execute.outcome import Outcome
from runner.execute.run import Run, Sink
from tests.fixtures.engine import waiting

Environment = Mapping[str, str]
Make = Callable[[Path, Environment], Executor]
"""Makes an executor of a runner directory and the environment of every run."""


class Cold(Executor):
    """Starts every run cold, whatever it asks for."""

    async def run(self, run: Run, sink: Sink = lambda _run, _event: None) -> Outcome:
        return await super().run(replace(run, engine=Engine.COLD), sink)


COLD: Make = Cold
"""A fresh ansible-playbook for every run: what the others must equal."""

OTHERS: Mapping[str, Make] = {"warm": Executor}
"""What is compared with `COLD`. With `COLD` in it, too, one sees whether stock Ansible is the same twice."""

REPEATS: Mapping[str, int] = {"warm": 2}
"""How often in a row an executor runs a case, each compared: the second run finds what the first has left warm."""

OWN_ARTIFACTS: frozenset[str] = frozenset({"engine", "run.json"})
"""Files of `artifacts/<ident>/` in which the operator says how and why it ran; they are not compared."""

_MOST_NAMED = 5
"""Earlier cases of an executor that a failure names."""


def served_by(artifacts: Path) -> str:
    """How the run was started, `warm` or `cold`, as its artifacts say."""
    return (artifacts / "engine").read_text().partition(":")[0]


@dataclass(frozen=True, slots=True)
class Shared:
    """An executor, and the names of the cases that it has run."""

    executor: Executor
    cases: list[str] = field(default_factory=list)

    @property
    def history(self) -> str:
        """The latest of the cases before the current one, for a failure that depends on them."""
        return ", ".join(self.cases[:-1][-_MOST_NAMED:]) or "no other case"


class Executors:
    """The executors of a session: a case finds what earlier cases with its environment have left warm."""

    def __init__(self, runner_dir: Path) -> None:
        self._runner_dir = runner_dir
        self._shared: dict[tuple[Make, frozenset[tuple[str, str]]], Shared] = {}

    @asynccontextmanager
    async def lend(
        self, make: Make, environment: Environment, name: str, *, keep: bool = True
    ) -> AsyncIterator[Shared]:
        """The executor of an environment, for the case of this name; closed after a failure, or unless `keep`."""
        key = make, frozenset(environment.items())
        shared = self._shared.setdefault(key, Shared(make(self._runner_dir, environment)))
        shared.cases.append(name)
        try:
            yield shared
        except BaseException:
            keep = False
            raise
        finally:
            if not keep:
                del self._shared[key]
                await shared.executor.close()

    def processes(self) -> set[int]:
        """The processes that wait for another run, of all executors."""
        zygotes = {pid for shared in self._shared.values() for pid in shared.executor.zygotes}
        return zygotes | waiting(zygotes)

    async def close(self) -> None:
        for shared in self._shared.values():
            await shared.executor.close()
