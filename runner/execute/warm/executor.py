"""The warm executor: as the cold one, but for how a run is started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from runner.config.watches import Engine
from runner.errors import RunError
from runner.execute.console import Console
from runner.execute.inputs import of_all_runs
from runner.execute.process import ColdExecutor, Prepared, Started
from runner.execute.run import Run
from runner.execute.warm.engine import ForkEngine


class WarmExecutor(ColdExecutor):
    """Has runs forked where that can be, and starts them cold where it cannot."""

    def __init__(
        self, runner_dir: Path, environment: Mapping[str, str] | None = None, *, console: Console | None = None
    ) -> None:
        super().__init__(runner_dir, environment, console=console)
        self._engine = ForkEngine(runner_dir.absolute())

    async def warm_up(self) -> None:
        """Start what runs are forked from, so that the first run finds it. Raises RunError if that fails."""
        environment = {**os.environ, **self._environment}
        await self._engine.warm_up(environment | of_all_runs(environment))

    @property
    def zygotes(self) -> frozenset[int]:
        """The ids of the processes that runs and their modules are forked from."""
        return self._engine.pids

    async def close(self) -> None:
        """End what runs are forked from, and runs that are still under way."""
        for child in self._children:
            child.end()
        await self._engine.close()

    async def _start(self, run: Run, prepared: Prepared, lock: int) -> Started:
        prepared.runner.status_callback("running")
        if run.engine is Engine.COLD:
            return await self._start_cold(prepared, lock)
        config = prepared.runner.config
        child = await self._engine.start(
            config.command, cwd=Path(config.cwd), env=config.env, lock=lock, until=self._until
        )
        if isinstance(child, str):
            if run.engine is Engine.WARM:
                raise RunError(f"this run cannot be warm, and no other is wanted: {child}")
            return await self._start_cold(prepared, lock, child)
        return Started(child, Engine.WARM)
