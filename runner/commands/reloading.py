"""`run --watch`: the operator takes up what its author saves, watches.yaml as well as roles and playbooks.

What cannot be used is said, and what was there before stays: watches.yaml with a mistake, content that is no YAML.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import structlog

from runner.commands.manifests import Applied, Manifests
from runner.config.contentfiles import Uses, Watches, concerned, contents, is_yaml, named_roles, roots
from runner.config.filewatch import FileWatch
from runner.config.settings import Settings
from runner.config.watchesfile import load_watches
from runner.config.yamlfile import problem_in
from runner.control.board import Board
from runner.errors import WatchesError
from runner.execute.executor import Executor
from runner.manager import Before, operate
from runner.objects import GroupVersionKind
from runner.stopping import stopped_by_signals

log = structlog.get_logger(__name__)

STAYS = "what was there before stays"
UNUSABLE = "a file cannot be used"
HARMLESS = "harmless"
"""Who finds mistakes beside which a file is used."""
Enqueue = Callable[[Collection[GroupVersionKind]], int]
"""Has every custom resource of these kinds reconciled; returns how many there are."""


class Mistakes:
    """What is wrong with saved files, whoever finds it: logged once, and told to a board, until it is mended.

    `unread` are the files of roles and playbooks that are no YAML.
    """

    def __init__(self, board: Board | None = None) -> None:
        self._board = board
        self.unread: set[Path] = set()
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}

    def __call__(self, file: str, problems: Collection[str], event: str = UNUSABLE, *, by: str = "") -> None:
        """The problems of a file as it is now, of those that this one looks for: nothing of it is used."""
        self._tell(file, problems, by, lambda problem: log.error(event, problem=problem, said=with_rest(problem)))

    def harmless(self, file: str, problems: Collection[str]) -> None:
        """The same of mistakes beside which the file is used."""
        self._tell(
            file,
            problems,
            HARMLESS,
            lambda problem: log.warning("mistake in watches.yaml", problem=problem, said=problem),
        )

    def _tell(self, file: str, problems: Collection[str], by: str, say: Callable[[str], object]) -> None:
        before = self._of(file)
        self._known.pop((file, by), None)
        if problems:
            self._known[file, by] = tuple(problems)
        after = self._of(file)
        for problem in problems:
            if problem not in before:
                say(problem)
        if before and not after:
            log.info("mended", file=file)
        if self._board is not None and before != after:
            self._board.mistakes(file, list(after.values()))

    def _of(self, file: str) -> dict[str, str]:
        """All that is known to be wrong with a file, and how it is shown."""
        return {
            one: one if by == HARMLESS else with_rest(one)
            for (of, by), known in self._known.items()
            if of == file
            for one in known
        }


def with_rest(problem: str) -> str:
    """A problem, and what it means for what is used."""
    return f"{problem.rstrip(' :.')}; {STAYS}"


async def run_reloading(
    settings: Settings,
    watches: Watches,
    board: Board | None = None,
    manifests: Manifests | None = None,
    mistakes: Mistakes | None = None,
    restore: Callable[[], None] = lambda: None,
) -> int:
    """As `run_operator`, but begins anew inside this process when watches.yaml has changed.

    Runs under way end first, as they do when the operator is stopped; what was listed is listed again. A `board`
    is told of everything, `manifests` are applied when they are saved; `restore` is called where the process is to
    end at once.
    """
    stopping = asyncio.Event()
    executor = Executor.of(settings, watches)
    session = Session(settings, watches, mistakes or Mistakes(board), manifests)
    resting = frozenset[GroupVersionKind]()
    try:
        with stopped_by_signals(stopping, restore):
            while True:
                if board is not None:
                    board.only(session.watches)
                if manifests is not None:
                    applied = await manifests.take_up(group_kinds(session.watches))
                    resting = frozenset(gvk for gvk in resting if not applied.concerns(gvk))
                before = Before(executor, board, resting)
                code = await operate(settings, session.watches, stopping, session.follow, before)
                if session.reloaded is None or stopping.is_set():
                    return code
                resting = frozenset(unchanged(session.watches, session.reloaded) - session.anew)
                session = session.next(session.reloaded)
    finally:
        await executor.close()


def unchanged(before: Watches, after: Watches) -> set[GroupVersionKind]:
    """The kinds whose watch says the same."""
    return {gvk for gvk, watch in after.items() if before.get(gvk) == watch}


class Session:
    """The time from one reading of watches.yaml to the next; `reloaded` is what the next one says.

    `anew` are kinds that are to be reconciled then although their watch says the same.
    """

    def __init__(
        self,
        settings: Settings,
        watches: Watches,
        mistakes: Mistakes,
        manifests: Manifests | None = None,
        files: FileWatch | None = None,
    ) -> None:
        self.watches = watches
        self.reloaded: Watches | None = None
        self.anew: set[GroupVersionKind] = set()
        self._settings = settings
        self._mistakes = mistakes
        self._manifests = manifests
        self._project = Path.cwd()
        self._file = settings.watches_file.absolute()
        self._broken = False
        self._files = FileWatch(self._roots, files)

    def next(self, watches: Watches) -> Session:
        """The time after this one; what is saved in between is not lost."""
        return Session(self._settings, watches, self._mistakes, self._manifests, self._files)

    async def follow(self, enqueue: Enqueue) -> None:
        """Return once there is another watches.yaml, or another kind, that can be used."""
        async for files in self._files.changes():
            if self._manifests is not None and self._manifests.concern(files):
                self._defined(await self._manifests.take_up(group_kinds(self.watches)), enqueue)
            if self._file in files or self._broken:
                self.reloaded = await asyncio.to_thread(self._load) or self.reloaded
            if self.reloaded is not None:
                self.anew |= await self._concerned(files, self.reloaded)
                return
            await self._enqueue([file for file in files if file != self._file], enqueue)

    def _roots(self) -> frozenset[Path]:
        own = self._manifests.roots if self._manifests is not None else frozenset[Path]()
        return roots(self.watches, self._project) | {self._file} | own

    def _defined(self, applied: Applied, enqueue: Enqueue) -> None:
        """Reconcile the kinds whose CRD has changed; one that was not there can only be watched anew."""
        for gvk in self.watches:
            if (gvk.group, gvk.kind) in applied.new:
                self.anew.add(gvk)
                self.reloaded = self.watches
            elif (gvk.group, gvk.kind) in applied.changed:
                log.info("CRD changed", kind=gvk.kind, enqueued=enqueue([gvk]))

    async def _enqueue(self, files: list[Path], enqueue: Enqueue) -> None:
        uses = await asyncio.to_thread(uses_between, self.watches)
        held = await asyncio.to_thread(self._held, files, uses)
        for file in files:
            kinds = [kind for kind in concerned(file, self.watches, self._project, uses) if kind not in held]
            if kinds:
                count = enqueue(kinds)
                names = [gvk.kind for gvk in kinds]
                log.info("Content changed", file=_shown(file, self._project), kinds=names, enqueued=count)

    async def _concerned(self, files: Iterable[Path], watches: Watches) -> set[GroupVersionKind]:
        uses = await asyncio.to_thread(uses_between, watches)
        return {gvk for file in files for gvk in concerned(file, watches, self._project, uses)}

    def _held(self, files: Iterable[Path], uses: Uses) -> set[GroupVersionKind]:
        """The kinds whose content is no YAML as it was saved last: a run of it could only fail."""
        for file in files:
            if is_yaml(file, self.watches, self._project):
                shown = _shown(file, self._project)
                problem = problem_in(file, shown)
                self._mistakes(shown, [str(problem)] if problem else ())
                (self._mistakes.unread.add if problem else self._mistakes.unread.discard)(file)
        return {
            gvk for file in self._mistakes.unread for gvk in concerned(file, self.watches, self._project, uses)
        }

    def _load(self) -> Watches | None:
        """None where the file says what it said before, or cannot be used: then the last good one stays."""
        file = _shown(self._file, self._project)
        try:
            found, notes = load_watches(self._settings.watches_file, self._project, self._settings.environment)
        except WatchesError as error:
            self._broken = True
            problems = [str(problem) for problem in error.problems]
            self._mistakes(file, problems, "watches.yaml cannot be used, the last good one stays")
            return None
        self._broken = False
        self._mistakes(file, ())
        self._mistakes.harmless(file, list(map(str, notes)))
        loaded = {watch.gvk: watch for watch in found}
        if loaded == self.watches:
            log.info("watches.yaml was saved, and says the same", file=file)
            return None
        log.info("watches.yaml changed, starting anew with it once the runs under way have ended", file=file)
        return loaded


def group_kinds(watches: Watches) -> set[tuple[str, str]]:
    """The watched kinds, whatever their versions."""
    return {(gvk.group, gvk.kind) for gvk in watches}


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
