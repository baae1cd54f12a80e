"""The files of a project that one watch's runs come to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.validate.content.places import Places
from runner.validate.content.reader import Reader, find_role
from runner.validate.content.uses import What
from runner.validate.documents import Document, read
from runner.validate.manifests.crds import Watched
from runner.validate.manifests.results import is_opaque
from runner.validate.manifests.touches import Touch, of_file

_TEXTS = ("templates", "files")


@dataclass(frozen=True, slots=True)
class Reach:
    """`tasks` are its files of tasks and plays; `whole` says that nothing is done elsewhere.

    `touches` are what they do with the API, each with its file; `unknown` says that it may be more.
    """

    tasks: tuple[Document, ...]
    touches: tuple[tuple[str, Touch], ...]
    whole: bool
    unknown: bool


def reach(item: Watched, places: Places) -> Reach:
    """What the runs of a watch come to, its finalizer's included."""
    reader = Reader(places)
    finalizer = item.watch.finalizer
    for content in (item.watch.content, finalizer.content if finalizer else None):
        if content is not None and content.path.exists():
            reader.read(content)
    files = [Path(name) for name in dict.fromkeys(use.file for use in reader.used)]
    tasks = tuple(document for file in files for document in read(file)[0][:1])
    found = [(str(file), touched) for file in (*files, *_texts_beside(files)) for touched in of_file(file)]
    touches = tuple((file, touched) for file, touched in found if isinstance(touched, Touch))
    foreign = any(_is_foreign(use.use.what, use.use.name, use.role_places, places) for use in reader.used)
    whole = bool(files) and not foreign
    unknown = len(touches) != len(found) or any(is_opaque(document.node.plain()) for document in tasks)
    return Reach(tasks, touches, whole, unknown)


def _texts_beside(files: list[Path]) -> list[Path]:
    """The templates and files of the roles, and of the directories of playbooks, that `files` belong to."""
    homes = dict.fromkeys(
        file.parent.parent if file.parent.name in ("tasks", "handlers") else file.parent for file in files
    )
    return [
        path for home in homes for name in _TEXTS for path in sorted((home / name).rglob("*")) if path.is_file()
    ]


def _is_foreign(what: What, name: str, role_places: tuple[Path, ...], places: Places) -> bool:
    if what is not What.ROLE:
        return False
    found = find_role(name, role_places, places, None)
    return found is None or not found.resolve().is_relative_to(places.project)
