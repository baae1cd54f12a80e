"""`run --watch`: the operator takes up what its author saves, watches.yaml as well as roles and playbooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from pathlib import Path

import structlog

from runner.config import filewatch
from runner.config.contentfiles import Uses, Watches, concerned, contents, named_roles, roots
from runner.config.settings import Settings
from runner.config.watchesfile import load_watches
from runner.errors import WatchesError
from runner.manager import operate
from runner.objects import GroupVersionKind
from runner.stopping import stopped_by_signals

log = structlog.get_logger(__name__)

Enqueue = Callable[[Collection[GroupVersionKind]], int]
"""Has every custom resource of these kinds reconciled; returns how many there are."""


async def run_reloading(settings: Settings, watches: Watches) -> int:
    """As `run_operator`, but begins anew inside this process when watches.yaml has changed.

    Runs under way end first, as they do when the operator is stopped; what was listed is listed again.
    """
    stopping = asyncio.Event()
    with stopped_by_signals(stopping):
        while True:
            session = Session(settings, watches)
            code = await operate(settings, watches, stopping, session.follow)
            if session.reloaded is None or stopping.is_set():
                return code
            watches = session.reloaded


class Session:
    """The time from one reading of watches.yaml to the next; `reloaded` is what the next one says."""

    def __init__(self, settings: Settings, watches: Watches) -> None:
        self.reloaded: Watches | None = None
        self._settings = settings
        self._watches = watches
        self._project = Path.cwd()
        self._file = settings.watches_file.absolute()
        self._broken = False
        self._before = filewatch.snapshot(self._roots())

    async def follow(self, enqueue: Enqueue) -> None:
        """Return once there is another watches.yaml that can be used."""
        async for files in filewatch.changes(self._roots, self._before):
            if self._file in files or self._broken:
                self.reloaded = await asyncio.to_thread(self._load)
                if self.reloaded is not None:
                    return
            await self._enqueue([file for file in files if file != self._file], enqueue)

    def _roots(self) -> frozenset[Path]:
        return roots(self._watches, self._project) | {self._file}

    async def _enqueue(self, files: list[Path], enqueue: Enqueue) -> None:
        uses = await asyncio.to_thread(uses_between, self._watches)
        for file in files:
            kinds = concerned(file, self._watches, self._project, uses)
            if kinds:
                count = enqueue(kinds)
                names = [gvk.kind for gvk in kinds]
                log.info("Content changed", file=_shown(file, self._project), kinds=names, enqueued=count)

    def _load(self) -> Watches | None:
        """None where the file says what it said before, or cannot be used: then the last good one stays."""
        file = _shown(self._file, self._project)
        try:
            found, notes = load_watches(self._settings.watches_file, self._project, self._settings.environment)
            self._broken = False
        except WatchesError as error:
            self._broken = True
            notes = error.problems
        for note in notes:
            if self._broken:
                log.error("watches.yaml cannot be used, the last good one stays", problem=str(note))
            else:
                log.warning("mistake in watches.yaml", problem=str(note))
        if self._broken:
            return None
        loaded = {watch.gvk: watch for watch in found}
        if loaded == self._watches:
            log.info("watches.yaml was saved, and says the same", file=file)
            return None
        log.info("watches.yaml changed, starting anew with it once the runs under way have ended", file=file)
        return loaded


def uses_between(watches: Watches) -> Uses:
    """Which content names roles of other watches, by the words in its YAML."""
    all_contents = {content.path: content for watch in watches.values() for content in contents(watch)}
    roles = frozenset(path for path, content in all_contents.items() if content.is_role)
    return {path: named_roles(_text(path), roles - {path}) for path in all_contents}


def _text(path: Path) -> str:
    files = [path] if path.is_file() else [*path.rglob("*.yml"), *path.rglob("*.yaml")]
    return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file())


def _shown(file: Path, project: Path) -> str:
    return str(file.relative_to(project)) if file.is_relative_to(project) else str(file)
