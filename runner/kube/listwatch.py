"""Listing and watching one resource, metadata only, and the Store of what is known of its objects."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from runner.errors import ApiError, StreamError
from runner.kube.answers import decoded, error_of_event
from runner.kube.client import Client
from runner.kube.discovery import Resource
from runner.objects import Body, GroupVersionKind, ObjectMeta

PAGE = 500
_AS = "application/json;as={};g=meta.k8s.io;v=v1,application/json"
LIST_ACCEPT = _AS.format("PartialObjectMetadataList")
WATCH_ACCEPT = _AS.format("PartialObjectMetadata")


Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list. `version` is the resourceVersion to watch from once the last page was read."""

    items: list[Body]
    version: str


async def pages(client: Client, resource: Resource, namespace: str) -> AsyncGenerator[Page, None]:
    """The whole list, page by page. Raises ApiError (410: the list took too long, begin anew)."""
    query = {"limit": str(PAGE)}
    while True:
        answer = await client.request("GET", resource.path(namespace), params=query, accept=LIST_ACCEPT, tries=1)
        meta = answer.get("metadata") or {}
        yield Page(answer.get("items") or [], meta.get("resourceVersion", ""))
        if not meta.get("continue"):
            return
        query = {"limit": str(PAGE), "continue": meta["continue"]}


async def was_set_back(client: Client, resource: Resource, namespace: str, version: str) -> bool:
    """Whether the data store is older than `version`, as after a restore: a watch from there would see nothing.

    Raises what a list raises.
    """
    answer = await client.request(
        "GET", resource.path(namespace), params={"limit": "1"}, accept=LIST_ACCEPT, tries=1
    )
    newest = (answer.get("metadata") or {}).get("resourceVersion", "")
    return is_older(newest, version)


@dataclass(frozen=True, slots=True)
class WatchFrom:
    """Where a watch begins and how long it may last: `seconds` by the server, `margin` more until we hang up."""

    version: str
    seconds: int
    margin: float


@asynccontextmanager
async def watching(
    client: Client, resource: Resource, namespace: str, start: WatchFrom
) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """An accepted watch: its events until the server ends it.

    Raises ApiError if it is refused; iterating raises ApiError, StreamError, and UnreachableError when the
    line is cut or silent for longer than the server's own limit.
    """
    path = (
        f"{resource.path(namespace)}?watch=true&allowWatchBookmarks=true"
        f"&resourceVersion={start.version}&timeoutSeconds={start.seconds}"
    )
    silence = start.seconds + start.margin
    async with (
        client.stream(path, accept=WATCH_ACCEPT, silence=silence) as chunks,
        aclosing(_events(chunks)) as events,
    ):
        yield events


async def _events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[dict[str, Any], None]:
    lines = Lines()
    async for chunk in chunks:
        for line in lines.feed(chunk):
            yield _event(line)


class Lines:
    """Cuts a stream into lines of any length; what follows the last line break waits for more.

    An unfinished line at the end is dropped: a watch continues from the last whole event.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        head, *more = chunk.split(b"\n")
        self._parts.append(head)
        for part in more:
            if line := b"".join(self._parts):
                yield line
            self._parts = [part]


def _event(line: bytes) -> dict[str, Any]:
    try:
        event: dict[str, Any] = decoded(line)
        body = event["object"]
        failed = event["type"] == "ERROR"
        version = failed or body["metadata"]["resourceVersion"]
    except (ValueError, KeyError, TypeError):
        version = ""
    if not version:
        raise StreamError(f"a watch event that cannot be read ({len(line)} bytes)")
    if failed:
        raise _fatal(error_of_event(body))
    return event


def _fatal(error: ApiError) -> Exception:
    """A 429 inside the stream is only about the pace; after any other ERROR the version may be of no use."""
    if error.status in (410, 429):
        return error
    return StreamError(f"the watch was ended by the server: {error}")


class What(StrEnum):
    """What happened to an object."""

    ADDED = "added"
    UPDATED = "updated"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Change:
    """One object's change. ADDED has no `old`; GONE has no `new`, and its `old` is the last state known.

    `listed`: found by the first list, so part of the backlog at start-up and no news. `managed` are the entries of
    managedFields that `new` came with, which no Store keeps.
    """

    what: What
    gvk: GroupVersionKind
    old: ObjectMeta | None
    new: ObjectMeta | None
    listed: bool = False
    managed: Sequence[Body] = field(default=(), compare=False, repr=False)


def is_older(one: str, other: str) -> bool:
    """By resourceVersion, which only Kubernetes itself writes as a number for sure."""
    return one.isdecimal() and other.isdecimal() and int(one) < int(other)


class Store:
    """The objects of one kind (in one namespace or all), by namespace and name."""

    def __init__(self, gvk: GroupVersionKind) -> None:
        self._gvk = gvk
        self._objects: dict[Name, ObjectMeta] = {}

    def get(self, namespace: str, name: str) -> ObjectMeta | None:
        return self._objects.get((namespace, name))

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[ObjectMeta]:
        return iter(tuple(self._objects.values()))

    def put(
        self, new: ObjectMeta, managed: Sequence[Body] = (), *, listed: bool = False, watched: bool = False
    ) -> list[Change]:
        """Knows `new` from now on. The same name with another uid is another object: one goes, one comes.

        What was `watched` and is older than what is known came late, or again; what a list has always counts.
        """
        name = (new.namespace, new.name)
        old = self._objects.get(name)
        if old is not None and old.uid == new.uid:
            if old.resource_version == new.resource_version or (
                watched and is_older(new.resource_version, old.resource_version)
            ):
                return []
            self._objects[name] = new
            return [Change(What.UPDATED, self._gvk, old, new, managed=managed)]
        self._objects[name] = new
        gone = [Change(What.GONE, self._gvk, old, None)] if old is not None else []
        return [*gone, Change(What.ADDED, self._gvk, None, new, listed, managed)]

    def remove(self, last: ObjectMeta) -> list[Change]:
        """Forgets the object; `last` is its state when it was deleted. Nothing if another one has its name."""
        name = (last.namespace, last.name)
        old = self._objects.get(name)
        if old is None or old.uid != last.uid:
            return []
        del self._objects[name]
        return [Change(What.GONE, self._gvk, last, None)]

    def keep_only(self, names: set[Name]) -> list[Change]:
        """Forgets what a complete list did not contain."""
        gone = [name for name in self._objects if name not in names]
        return [Change(What.GONE, self._gvk, self._objects.pop(name), None) for name in gone]
