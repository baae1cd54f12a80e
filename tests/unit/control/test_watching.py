"""Which kinds are watched, and what their changes put on the queue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from runner.config.watches import Content, Watch
from runner.control.changes import Enqueue, OwnerWatch, where_to_watch
from runner.control.queue import WorkQueue
from runner.control.request import Request, Trigger
from runner.control.sources import Watching
from runner.kube.listwatch import Change, Store, What
from runner.objects import GroupVersionKind, ObjectKey, ObjectMeta, OwnerRef, parse_meta

THING = GroupVersionKind("example.com", "v1", "Thing")
MAP = GroupVersionKind("", "v1", "ConfigMap")
ADDED = parse_meta({"metadata": {"namespace": "ns", "name": "new", "uid": "1", "generation": 1}})
FOLLOWING = OwnerWatch(THING, namespaced=True)


class StillReflector:
    """Stands in for a Reflector: tells only what a test makes it tell."""

    def __init__(self, on_change: Callable[[Change], None]) -> None:
        self.tell = on_change
        self.restarts = 3
        self.known = asyncio.Event()
        self.store = Store(THING)
        self.running = False

    async def run(self) -> None:
        self.running = True
        await asyncio.Event().wait()


class Scene:
    """A Watching with still reflectors, and what came out of it."""

    def __init__(self) -> None:
        self.reflectors: dict[tuple[GroupVersionKind, str], StillReflector] = {}
        self.told: list[Change] = []
        self.own: set[tuple[str, str]] = set()
        self.settling = asyncio.Event()
        self.settling.set()
        self.queue = WorkQueue(asyncio.get_running_loop(), total=8)
        self.watching = Watching(
            self._reflector,  # type: ignore[arg-type]  # a stand-in with the members that are used
            self.queue,
            self.told.append,
            own_write=lambda uid, version: (uid, version) in self.own,
            settle=self._settle,
        )

    async def entry(self) -> Request:
        async with asyncio.timeout(5):
            entry = await self.queue.get()
        assert entry is not None
        return entry

    async def idle(self) -> bool:
        """Whether nothing is put on the queue by what was told so far."""
        await asyncio.gather(*self.watching._settling)  # the only way to know that nothing will come
        return len(self.queue) == 0

    async def _settle(self) -> None:
        await self.settling.wait()

    def _reflector(
        self, gvk: GroupVersionKind, namespace: str, on_change: Callable[[Change], None]
    ) -> StillReflector:
        reflector = StillReflector(on_change)
        self.reflectors[gvk, namespace] = reflector
        return reflector


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    made = Scene()
    yield made
    made.queue.close()
    await made.watching.stop()


def watch(**fields: object) -> Watch:
    return replace(Watch(THING, Content(Path("/roles/x"), is_role=True)), **fields)  # type: ignore[arg-type]


def meta(name: str, version: str = "1", generation: int = 1, **fields: object) -> ObjectMeta:
    body = {"metadata": {"namespace": "ns", "name": name, "uid": f"uid-{name}", "resourceVersion": version}}
    return replace(parse_meta(body), generation=generation, **fields)  # type: ignore[arg-type]


def owned(version: str, generation: int = 1) -> ObjectMeta:
    return meta("child", version, generation, owners=(OwnerRef("example.com/v1", "Thing", "first", "uid-first"),))


async def test_a_new_custom_resource_is_enqueued_and_told_of(scene: Scene) -> None:
    scene.watching.resources(watch(), [""])
    change = Change(What.ADDED, THING, None, meta("first"), listed=False)
    scene.reflectors[THING, ""].tell(change)
    entry = await scene.entry()
    assert (entry.key, entry.triggers) == (ObjectKey(THING, "ns", "first"), frozenset({Trigger.CREATED}))
    assert scene.told == [change]


async def test_every_namespace_has_a_reflector_of_its_own(scene: Scene) -> None:
    scene.watching.resources(watch(), ["a", "b"])
    assert list(scene.reflectors) == [(THING, "a"), (THING, "b")]


@pytest.mark.parametrize("namespace", ["", "ns"])
async def test_which_object_was_told_of_last_is_known_of_what_is_watched(scene: Scene, namespace: str) -> None:
    scene.watching.resources(watch(), [namespace])
    scene.reflectors[THING, namespace].store.put(meta("first"))
    assert scene.watching.told(ObjectKey(THING, "ns", "first")) == "uid-first"
    assert scene.watching.told(ObjectKey(THING, "ns", "second")) == ""


async def test_of_what_is_not_watched_nobody_knows_what_was_told(scene: Scene) -> None:
    scene.watching.resources(watch(), ["elsewhere"])
    scene.watching.dependents((MAP, "ns"), FOLLOWING)
    assert scene.watching.told(ObjectKey(THING, "ns", "first")) is None
    assert scene.watching.told(ObjectKey(MAP, "ns", "child")) is None


async def test_a_deleted_dependent_enqueues_its_owner(scene: Scene) -> None:
    scene.watching.dependents((MAP, ""), FOLLOWING)
    scene.reflectors[MAP, ""].tell(Change(What.GONE, MAP, owned("1"), None, listed=False))
    entry = await scene.entry()
    assert (entry.key, entry.triggers) == (ObjectKey(THING, "ns", "first"), frozenset({Trigger.DEPENDENT}))


async def test_what_a_run_wrote_itself_enqueues_nothing(scene: Scene) -> None:
    scene.own.add(("uid-child", "2"))
    scene.watching.dependents((MAP, ""), FOLLOWING)
    scene.reflectors[MAP, ""].tell(Change(What.UPDATED, MAP, owned("1"), owned("2", 2), listed=False))
    assert await scene.idle()


async def test_what_a_run_made_enqueues_nobody_who_refers_to_it(scene: Scene) -> None:
    scene.own.add(("uid-child", "2"))
    scene.watching.listen((MAP, ""), lambda _: (Enqueue(ObjectKey(THING, "ns", "first"), Trigger.REFERENCE),))
    scene.reflectors[MAP, ""].tell(Change(What.ADDED, MAP, None, owned("2"), listed=False))
    assert await scene.idle()


async def test_whether_a_write_was_a_runs_own_is_asked_only_once_that_is_known(scene: Scene) -> None:
    scene.settling.clear()
    scene.watching.dependents((MAP, ""), FOLLOWING)
    scene.reflectors[MAP, ""].tell(Change(What.UPDATED, MAP, owned("1"), owned("2", 2), listed=False))
    scene.own.add(("uid-child", "2"))  # the answer to the write comes after the watch event
    scene.settling.set()
    assert await scene.idle()


async def test_one_reflector_serves_a_kind_that_is_both_resource_and_dependent(scene: Scene) -> None:
    scene.watching.resources(watch(), [""])
    scene.watching.dependents((THING, ""), OwnerWatch(MAP, namespaced=True))
    scene.watching.dependents((THING, ""), OwnerWatch(MAP, namespaced=True, by_annotation=True))
    assert list(scene.reflectors) == [(THING, "")]


async def test_watching_has_settled_when_every_custom_resource_kind_has(scene: Scene) -> None:
    scene.watching.resources(watch(), ["a", "b"])
    scene.watching.dependents((MAP, ""), FOLLOWING)
    settled = asyncio.ensure_future(scene.watching.has_synced())
    scene.reflectors[THING, "a"].known.set()
    await asyncio.sleep(0)
    assert not settled.done()
    scene.reflectors[THING, "b"].known.set()
    async with asyncio.timeout(5):
        await settled


async def test_what_is_enqueued_is_told_to_whoever_debugs(scene: Scene) -> None:
    scene.watching.resources(watch(), [""])
    with capture_logs() as logs:
        scene.reflectors[THING, ""].tell(Change(What.ADDED, THING, None, ADDED, listed=False))
    assert logs == [{"event": "Enqueued", "log_level": "debug", "key": "Thing ns/new", "trigger": "created"}]


async def test_readiness_waits_for_custom_resources_only_but_every_restart_counts(scene: Scene) -> None:
    scene.watching.resources(watch(), [""])
    scene.watching.dependents((MAP, ""), FOLLOWING)
    waited_for: list[object] = [*scene.watching.resource_reflectors()]
    assert waited_for == [scene.reflectors[THING, ""]]
    found = [(reflector.restarts, *purposes) for reflector, *purposes in scene.watching.reflectors()]
    assert found == [(3, True, False), (3, False, True)]


@pytest.mark.parametrize(
    ("fields", "namespace", "namespaces", "by_annotation", "place"),
    [
        ({}, "ns", (), False, ""),
        ({}, "ns", ("ns", "other"), False, "ns"),
        ({}, "elsewhere", ("ns",), False, None),
        ({}, "", ("ns",), False, None),
        ({"watch_dependents": False}, "ns", (), False, None),
        ({"blacklist": frozenset({MAP})}, "ns", (), False, None),
        ({}, "ns", (), True, ""),
        ({}, "", (), True, None),
        ({"watch_cluster_scoped": True}, "", (), True, ""),
    ],
)
def test_dependents_are_watched_where_the_go_operator_watches_them(
    fields: dict[str, object],
    namespace: str,
    namespaces: tuple[str, ...],
    by_annotation: bool,
    place: str | None,
) -> None:
    assert where_to_watch(watch(**fields), MAP, namespace, namespaces, by_annotation=by_annotation) == place
