"""What runs left of custom resources that were deleted while no operator watched: removed when one begins.

The directory of runs may be shared, on a laptop or on a volume: what was run for another watches file, or on
another API server, is left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog

from runner.errors import KindAbsentError, KubeError, NotFoundError
from runner.execute.executor import Executor
from runner.execute.history import History, PastRun
from runner.kube.discovery import ObjectsApi
from runner.objects import GroupVersionKind, ObjectKey

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose runs they were: the watches file that asked for them, and the address of the API server."""

    watches: str
    server: str

    def may_be_of(self, run: PastRun) -> bool:
        """Unless it says otherwise: an older version did not say which server."""
        return run.text("watches") in ("", self.watches) and run.text("server") in ("", self.server)


async def forget_gone(
    executor: Executor,
    objects: ObjectsApi,
    kinds: Iterable[GroupVersionKind],
    listed: Callable[[GroupVersionKind], Iterable[ObjectKey]],
    watches: str,
) -> None:
    """Remove what runs for this watches file left of objects of these kinds that are gone.

    Those that are `listed` are there; of any other the API server is asked, for it may be one that is not watched.
    """
    origin = Origin(watches, objects.server)
    for gvk in kinds:
        for key in await asyncio.to_thread(unlisted, executor.root, gvk, set(listed(gvk)), origin):
            if await _is_gone(objects, key):
                log.info("Removing what runs left", key=str(key), said=f"{key} is gone, and so are its past runs")
                await executor.forget(key)


def unlisted(root: Path, gvk: GroupVersionKind, listed: set[ObjectKey], origin: Origin) -> list[ObjectKey]:
    """The objects of a kind with run directories below `root` of no other origin, but for those `listed`."""
    history = History([root])
    return [
        key
        for key, directory in history.objects(gvk)
        if key not in listed and all(map(origin.may_be_of, history.of_object(directory)))
    ]


async def _is_gone(objects: ObjectsApi, key: ObjectKey) -> bool:
    """False also where nobody can tell."""
    try:
        await objects.get(key)
    except (NotFoundError, KindAbsentError):
        return True
    except KubeError as error:
        log.debug("cannot tell whether it is gone", key=str(key), error=str(error))
    return False
