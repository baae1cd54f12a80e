"""What runs left of custom resources that were deleted while no operator watched: removed when one begins.

The directory of runs may be shared, on a laptop or on a volume: what was run for another watches file, or on
another API server, is left alone, and so is what nobody can tell of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from runner.errors import KubeError, NotFoundError
from runner.execute.executor import Executor
from runner.execute.history import History
from runner.kube.discovery import ObjectsApi
from runner.objects import GroupVersionKind, ObjectKey

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Those of runs for this watches file."""

    executor: Executor
    objects: ObjectsApi
    watches: str

    async def forget_gone(
        self,
        kinds: Iterable[GroupVersionKind],
        listed: Callable[[GroupVersionKind], Iterable[ObjectKey]],
    ) -> None:
        """Remove those of objects of these kinds that are gone.

        What is `listed` is there: its bytes are counted. Of any other the API server is asked, for it may be one
        that is not watched.
        """
        for gvk in kinds:
            await self.executor.measure(listed(gvk))
            for key, directory in await asyncio.to_thread(self._unlisted, gvk, set(listed(gvk))):
                try:
                    await self.executor.forget(key, partial(self._is_gone, key, directory))
                except Exception:  # whatever is wrong with one, the operator goes on
                    log.exception("what runs left cannot be removed", key=str(key))

    def _unlisted(self, gvk: GroupVersionKind, listed: set[ObjectKey]) -> list[tuple[ObjectKey, Path]]:
        found = History([self.executor.root]).objects(gvk)
        return [(key, path) for key, path in found if key not in listed and self._is_ours(path)]

    def _is_ours(self, directory: Path) -> bool:
        """Also where nothing tells of a run: it was killed before it could."""
        history, ours = History([]), {"watches": self.watches, "server": self.objects.server}
        runs = history.of_object(directory)
        return not history.problems and all(run.about.items() >= ours.items() for run in runs)

    async def _is_gone(self, key: ObjectKey, directory: Path) -> bool:
        """Now that no run is under way, which may have been somebody else's."""
        if not self._is_ours(directory):
            return False
        try:
            await self.objects.get(key)
        except NotFoundError:
            log.info("Removing what runs left", key=str(key), said=f"{key} is gone: removing what its runs left")
            return True
        except KubeError as error:
            log.debug("cannot tell whether it is gone", key=str(key), error=str(error))
        return False
