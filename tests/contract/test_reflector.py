"""The reflector's contract: whatever the API server or the network does, the Store becomes right again."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from runner.config.settings import ClusterSettings
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.kube.listwatch import Change, What
from runner.kube.reflector import FAILING_AFTER, USUAL, Pace, Phase, Reflector
from runner.objects import GroupVersionKind
from tests.fixtures.apiserver import (
    ApiServer,
    Drop,
    Reply,
    Stream,
    bookmark,
    error_event,
    event,
    failure,
    listing,
    serves,
    serving,
    thing,
)
from tests.fixtures.clock import FakeClock
from tests.fixtures.waiting import until

GVK = GroupVersionKind("cache.example.com", "v1", "Memcached")
ROOT = "/apis/cache.example.com/v1"
THINGS = f"{ROOT}/memcacheds"
QUICK = Pace(watch=(0.0, 0.0), margin=0.1)


@dataclass
class Scene:
    """A scripted server and one reflector that watches it."""

    server: ApiServer
    client: Client
    time: FakeClock
    token: Path
    changes: list[Change] = field(default_factory=list)

    def reflector(self, namespace: str = "", pace: Pace | None = None) -> Reflector:
        clock = self.time.clock()
        discovery = Discovery(self.client, clock)
        return Reflector(self.client, discovery, GVK, namespace, self.changes.append, pace=pace, clock=clock)

    def told(self) -> list[tuple[What, str]]:
        return [(change.what, _name(change)) for change in self.changes]

    async def until_told(self, *expected: tuple[What, str]) -> None:
        """Waits for as many changes as expected, and compares."""
        with contextlib.suppress(TimeoutError):
            await until(lambda: len(self.changes) >= len(expected))
        assert self.told() == list(expected)

    def versions(self) -> list[str]:
        """From which resourceVersion each watch began."""
        return [asked.query["resourceVersion"] for asked in self.server.seen("watch", THINGS)]


def _name(change: Change) -> str:
    meta = change.new or change.old
    assert meta is not None
    return meta.name


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    token = tmp_path / "token"
    token.write_text("first")
    time = FakeClock()
    async with serving() as server:
        server.on("get", ROOT, serves(("memcacheds", "Memcached")))
        server.on("watch", THINGS, Stream())
        config = server.kubeconfig(tmp_path / "config", user={"tokenFile": "token"})
        client = await Client.connect(ClusterSettings(str(config)), clock=time.clock())
        try:
            yield Scene(server, client, time, token)
        finally:
            await client.close()


@contextlib.asynccontextmanager
async def running(reflector: Reflector) -> AsyncIterator[None]:
    task = asyncio.create_task(reflector.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_a_kind_is_listed_in_pages_and_its_metadata_watched_from_where_the_list_ended(scene: Scene) -> None:
    scene.server.on(
        "get", THINGS, listing([thing("a")], "7", more="next"), listing([thing("b", 2)], "7"), failure(500)
    )
    async with running(reflector := scene.reflector()):
        await until(lambda: scene.server.count("watch"))
        first, second = scene.server.seen("get", THINGS)
        watch = scene.server.seen("watch")[0]
    assert reflector.has_synced.is_set()
    assert [meta.name for meta in reflector.store] == ["a", "b"]
    assert all(change.listed for change in scene.changes)
    assert (first.query["limit"], second.query["continue"]) == ("500", "next")
    assert "PartialObjectMetadataList;" in first.headers["Accept"]
    assert "PartialObjectMetadata;" in watch.headers["Accept"]
    assert watch.query == {
        "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "7", "timeoutSeconds": "480"
    }  # fmt: skip


async def test_a_namespace_is_watched_alone(scene: Scene) -> None:
    path = f"{ROOT}/namespaces/ns/memcacheds"
    scene.server.on("get", path, listing([thing("a")]))
    scene.server.on("watch", path, Stream())
    async with running(scene.reflector("ns")):
        await until(lambda: scene.server.count("watch", path))
    await scene.until_told((What.ADDED, "a"))


async def test_additions_updates_and_deletions_are_told_with_the_old_and_the_new(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([thing("a")]))
    scene.server.on(
        "watch",
        THINGS,
        Stream(
            event("ADDED", thing("b", 101)),
            event("MODIFIED", thing("a", 102, generation=2)),
            event("DELETED", thing("b", 103)),
        ),
    )
    async with running(reflector := scene.reflector()):
        await scene.until_told((What.ADDED, "a"), (What.ADDED, "b"), (What.UPDATED, "a"), (What.GONE, "b"))
    updated, gone = scene.changes[2:]
    assert not scene.changes[1].listed
    assert updated.old is not None
    assert updated.new is not None
    assert (updated.old.resource_version, updated.new.generation) == ("1", 2)
    assert gone.new is None
    assert len(reflector.store) == 1
    assert reflector.store.get("ns", "b") is None


async def test_an_event_that_was_known_already_is_no_news(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([thing("a", 5)]))
    scene.server.on("watch", THINGS, Stream(event("ADDED", thing("a", 5)), event("ADDED", thing("b", 6))))
    async with running(scene.reflector()):
        await scene.until_told((What.ADDED, "a"), (What.ADDED, "b"))


async def test_an_older_version_that_a_watch_brings_late_is_no_news(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([thing("a", 90)]))
    events = [event("MODIFIED", thing("a", version)) for version in (102, 90, 101, 110)]
    scene.server.on("watch", THINGS, Stream(*events))
    async with running(scene.reflector()):
        await scene.until_told((What.ADDED, "a"), (What.UPDATED, "a"), (What.UPDATED, "a"))
    assert [change.new.resource_version for change in scene.changes if change.new] == ["90", "102", "110"]


async def test_a_deletion_in_a_410_gap_is_told(scene: Scene) -> None:
    scene.server.on(
        "get", THINGS, listing([thing("a"), thing("b"), thing("c")]), listing([thing("a"), thing("b", 9)])
    )
    scene.server.on("watch", THINGS, Stream(error_event(410, "Expired"), then="end"), Stream())
    async with running(scene.reflector()):
        await scene.until_told(
            (What.ADDED, "a"), (What.ADDED, "b"), (What.ADDED, "c"), (What.UPDATED, "b"), (What.GONE, "c")
        )


async def test_a_410_as_the_answer_to_a_watch_leads_to_a_new_list(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([thing("a")]), listing([], "200"))
    scene.server.on("watch", THINGS, failure(410, "Expired"), Stream())
    async with running(scene.reflector()):
        await until(lambda: scene.versions() == ["100", "200"])
    await scene.until_told((What.ADDED, "a"), (What.GONE, "a"))


async def test_the_same_name_with_another_uid_is_another_object(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([thing("a", uid="one")]), listing([thing("a", 9, uid="two")]))
    scene.server.on("watch", THINGS, failure(410), Stream())
    async with running(scene.reflector()):
        await scene.until_told((What.ADDED, "a"), (What.GONE, "a"), (What.ADDED, "a"))
    assert scene.changes[1].old is not None
    assert scene.changes[1].old.uid == "one"


async def test_an_expired_list_begins_anew_and_forgets_nothing(scene: Scene) -> None:
    scene.server.on(
        "get",
        THINGS,
        listing([thing("a")], "7", more="next"),
        failure(410, "Expired"),
        listing([thing("a")], "8", more="next"),
        listing([thing("b")], "8"),
    )
    async with running(scene.reflector()):
        await until(lambda: scene.versions() == ["8"])
    await scene.until_told((What.ADDED, "a"), (What.ADDED, "b"))


@pytest.mark.parametrize(
    ("trouble", "resumes_from"),
    [
        (Stream(bookmark(150), error_event(500, "InternalError"), then="end"), "200"),
        (Stream(bookmark(150), error_event(429, "TooManyRequests"), then="end"), "150"),
        (Stream(bookmark(150), b'{"type":"ADDED","obj', then="cut"), "150"),
        (Stream(bookmark(150), b'{"type":"ADDED","obj', then="end"), "150"),
        (Stream(bookmark(150), b"not json\n", then="end"), "200"),
        (Stream(bookmark(150), b'{"type":"ADDED","object":{}}\n', then="end"), "200"),
        (Stream(bookmark(150), then="end"), "150"),
        (failure(500), "100"),
        (failure(429), "100"),
        (failure(401), "100"),
        (failure(403), "100"),
    ],
    ids=[
        "error event 500", "error event 429", "cut mid-line", "ended mid-line", "not JSON", "no metadata",
        "ended early", "HTTP 500", "HTTP 429", "HTTP 401", "HTTP 403",
    ],
)  # fmt: skip
async def test_a_watch_is_resumed_after_any_transient_error(
    scene: Scene, trouble: Stream, resumes_from: str
) -> None:
    scene.server.on("get", THINGS, listing([thing("a")], "100"), listing([thing("a")], "200"))
    scene.server.on("watch", THINGS, trouble, Stream(event("ADDED", thing("b", 300))))
    async with running(reflector := scene.reflector()):
        await scene.until_told((What.ADDED, "a"), (What.ADDED, "b"))
        assert reflector.phase is Phase.WATCHING
    assert scene.versions()[-1] == resumes_from
    assert scene.time.slept
    assert reflector.restarts == 1


async def test_a_server_that_hangs_up_is_called_again(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([]))
    scene.server.on("watch", THINGS, Drop(), Drop(), Drop(), Stream(event("ADDED", thing("a", 101))))
    async with running(reflector := scene.reflector()):
        await scene.until_told((What.ADDED, "a"))
    assert reflector.restarts
    assert set(scene.versions()) == {"100"}


async def test_a_line_that_falls_silent_is_given_up(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([]), listing([], "150"))
    scene.server.on("watch", THINGS, Stream(bookmark(150), then="hang"), Stream(event("ADDED", thing("a", 160))))
    async with running(scene.reflector(pace=QUICK)):
        await scene.until_told((What.ADDED, "a"))
    assert scene.versions()[:2] == ["100", "150"]


@pytest.mark.parametrize("trouble", [Stream(bookmark(150), then="cut"), failure(503)])
async def test_a_data_store_that_was_set_back_is_listed_anew(scene: Scene, trouble: Stream | Reply) -> None:
    scene.server.on(
        "get", THINGS, listing([thing("a", 90), thing("b")]), listing([thing("a", 40), thing("c")], "60")
    )
    scene.server.on("watch", THINGS, trouble, Stream())
    async with running(scene.reflector()):
        await until(lambda: scene.versions() == ["100", "60"])
    assert scene.told()[2:] == [(What.UPDATED, "a"), (What.ADDED, "c"), (What.GONE, "b")]


async def test_a_data_store_that_went_on_meanwhile_is_watched_from_where_the_watch_was_cut(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([thing("a")]), listing([thing("a")], "200"))
    scene.server.on("watch", THINGS, Stream(bookmark(150), then="cut"), Stream())
    async with running(scene.reflector()):
        await until(lambda: scene.versions() == ["100", "150"])
    assert [asked.query["limit"] for asked in scene.server.seen("get", THINGS)] == ["500", "1"]


async def test_a_server_that_asks_for_time_gets_it(scene: Scene) -> None:
    scene.server.on("get", THINGS, failure(429, "TooManyRequests", Retry_After="17"), listing([]))
    async with running(scene.reflector()):
        await until(lambda: scene.server.count("watch"))
    assert scene.time.slept == [17.0]


async def test_watches_that_end_at_once_do_not_make_the_reflector_spin(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([]))
    scene.server.on("watch", THINGS, Stream(then="end"))
    async with running(scene.reflector()):
        await until(lambda: scene.time.elapsed > 600)
    assert scene.server.count("watch") < 35
    assert scene.server.count("get", THINGS) == 1
    assert max(scene.time.slept) == 30.0
    assert min(scene.time.slept) == 0.1


async def test_a_list_that_works_before_a_watch_that_never_does_resets_no_backoff(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([]))
    scene.server.on("watch", THINGS, failure(410, "Expired"))
    async with running(scene.reflector()):
        await until(lambda: scene.time.elapsed > 600)
    assert len(scene.server.asked) < 70


async def test_a_version_that_expired_in_an_outage_is_replaced_without_delay(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([]))
    scene.server.on("watch", THINGS, *[failure(503)] * 4, Stream(error_event(410), then="end"), Stream())
    async with running(scene.reflector()):
        await until(lambda: scene.server.count("watch") == 6)
    assert scene.time.slept == [0.1, 0.2, 0.4, 0.8, 0.1]


async def test_a_watch_that_held_resets_the_backoff(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([]))
    good = Stream(event("ADDED", thing("a", 101)), then="hang")
    scene.server.on("watch", THINGS, *[Stream(then="end")] * 5, good, Stream())
    async with running(scene.reflector()):
        await scene.until_told((What.ADDED, "a"))
        scene.time.advance(60)
        good.send(error_event(429))
        await until(lambda: scene.server.count("watch") == 7)
    assert scene.time.slept == [0.1, 0.2, 0.4, 0.8, 1.6, 0.1]


async def test_a_version_that_is_refused_again_and_again_is_given_up(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([], "100"), listing([], "200"))
    scene.server.on("watch", THINGS, *[failure(500)] * 5, Stream())
    async with running(scene.reflector()):
        await until(lambda: scene.versions() == [*["100"] * 5, "200"])


def loud(logs: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(line["error"]) for line in logs if line["log_level"] == "warning"]


async def test_the_end_of_a_watch_whose_crd_is_changed_is_no_trouble(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([], "100"), failure(429), listing([], "200"))
    scene.server.on("watch", THINGS, Stream(then="end"), failure(410, "Expired"), Stream(then="hang"))
    with capture_logs() as logs:
        async with running(reflector := scene.reflector()):
            await until(lambda: scene.versions() == ["100", "100", "200"])
            assert (reflector.phase, reflector.why) == (Phase.WATCHING, "")
    assert loud(logs) == []
    assert [line["event"] for line in logs if line["log_level"] == "info"] == ["watching"]


async def test_watches_that_end_early_again_and_again_are_trouble(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([]))
    scene.server.on("watch", THINGS, *[Stream(then="end")] * (USUAL + 1), Stream(then="hang"))
    with capture_logs() as logs:
        async with running(scene.reflector()):
            await until(lambda: scene.server.count("watch") == USUAL + 2)
    assert loud(logs) == ["the watch was ended at once"]


async def test_an_absent_kind_is_noticed_when_it_comes(scene: Scene) -> None:
    absent, present = failure(404, "NotFound"), serves(("memcacheds", "Memcached"))
    scene.server.on("get", ROOT, *[absent] * 6, present)
    scene.server.on("get", THINGS, listing([thing("a")]))
    with capture_logs() as logs:
        async with running(reflector := scene.reflector()):
            await until(lambda: reflector.phase is Phase.ABSENT)
            assert not reflector.has_synced.is_set()
            await scene.until_told((What.ADDED, "a"))
            await until(lambda: reflector.phase is Phase.WATCHING)
    assert scene.time.slept == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    warnings = [line for line in logs if line["log_level"] == "warning"]
    assert len(warnings) == 1
    assert "CustomResourceDefinition" in warnings[0]["todo"]


async def test_a_kind_that_is_deleted_takes_its_objects_with_it(scene: Scene) -> None:
    first = Stream(then="hang")
    scene.server.on("get", THINGS, listing([thing("a"), thing("b")]), failure(404))
    scene.server.on("watch", THINGS, first, failure(404))
    async with running(reflector := scene.reflector()):
        await until(lambda: reflector.phase is Phase.WATCHING)
        scene.server.on("get", ROOT, failure(404))
        first.send(error_event(429))
        await scene.until_told((What.ADDED, "a"), (What.ADDED, "b"), (What.GONE, "a"), (What.GONE, "b"))
        await until(lambda: reflector.phase is Phase.ABSENT)
    assert len(reflector.store) == 0


async def test_a_stray_404_while_the_kind_is_still_served_is_no_deletion(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([thing("a")]))
    scene.server.on("watch", THINGS, failure(404), Stream(event("ADDED", thing("b", 101))))
    async with running(scene.reflector()):
        await scene.until_told((What.ADDED, "a"), (What.ADDED, "b"))


async def test_a_forbidden_kind_is_polled_with_patience_until_it_is_allowed(scene: Scene) -> None:
    no = failure(403, "Forbidden", "memcacheds is forbidden")
    scene.server.on("get", THINGS, *[no] * 8, listing([thing("a")]))
    with capture_logs() as logs:
        async with running(reflector := scene.reflector()):
            await until(lambda: reflector.phase is Phase.FORBIDDEN)
            await scene.until_told((What.ADDED, "a"))
    assert scene.time.slept == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    warnings = [line for line in logs if line["log_level"] == "warning"]
    assert len(warnings) == 1
    assert "list memcacheds" in warnings[0]["todo"]
    assert 'apiGroups: ["cache.example.com"], resources: ["memcacheds"]' in warnings[0]["todo"]


async def test_an_object_of_megabytes_passes(scene: Scene) -> None:
    huge = thing("a", 101, annotations={"note": "x" * 3_000_000})
    scene.server.on("get", THINGS, listing([]))
    scene.server.on("watch", THINGS, Stream(event("ADDED", huge), event("ADDED", thing("b", 102))))
    async with running(reflector := scene.reflector()):
        await scene.until_told((What.ADDED, "a"), (What.ADDED, "b"))
    meta = reflector.store.get("ns", "a")
    assert meta is not None
    assert len(meta.annotations[0][1]) < 64


def deep(name: str, version: int, levels: int) -> bytes:
    """An object whose managed fields are nested so deeply."""
    fields = b'{"f:a":' * levels + b"{}" + b"}" * levels
    body = thing(name, version, managedFields=[{"manager": "kubectl", "fieldsV1": "DEEP"}])
    return json.dumps(body).encode().replace(b'"DEEP"', fields)


@pytest.mark.parametrize("levels", [1_000, 2_000, 50_000])
async def test_one_object_that_is_nested_deeply_hides_no_other(scene: Scene, levels: int) -> None:
    page = b'{"metadata":{"resourceVersion":"100"},"items":[%s,%s]}' % (
        deep("listed", 1, levels),
        json.dumps(thing("b", 2)).encode(),
    )
    added = b'{"type":"ADDED","object":%s}\n' % deep("watched", 101, levels)
    scene.server.on("get", THINGS, Reply(page))
    scene.server.on("watch", THINGS, Stream(added, event("ADDED", thing("d", 102))))
    async with running(reflector := scene.reflector()):
        await scene.until_told(*((What.ADDED, name) for name in ("listed", "b", "watched", "d")))
        assert (reflector.restarts, scene.server.count("get", THINGS)) == (0, 1)


async def test_a_kind_is_not_ready_before_it_was_listed(scene: Scene) -> None:
    scene.server.on("get", THINGS, failure(500))
    async with running(reflector := scene.reflector()):
        await until(lambda: reflector.phase is Phase.WAITING)
        assert not reflector.ready
        scene.server.on("get", THINGS, listing([thing("a")]))
        await until(lambda: reflector.ready)


async def test_a_kind_that_was_listed_stays_ready_while_its_watch_is_interrupted(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([thing("a")]))
    scene.server.on("watch", THINGS, failure(500))
    async with running(reflector := scene.reflector()):
        await until(lambda: reflector.phase is Phase.WAITING)
        assert reflector.ready


async def test_a_kind_that_the_api_server_cannot_list_for_long_is_not_ready_until_it_can(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([thing("a")]))
    scene.server.on("watch", THINGS, failure(410))
    async with running(reflector := scene.reflector()):
        await until(lambda: reflector.has_synced.is_set())
        scene.server.on("get", THINGS, failure(500, message="conversion webhook failed"))
        await until(lambda: not reflector.ready)
        assert scene.time.elapsed >= FAILING_AFTER
        assert "conversion webhook failed" in reflector.why
        scene.server.on("get", THINGS, listing([thing("a")]))
        scene.server.on("watch", THINGS, Stream(then="hang"))
        await until(lambda: reflector.ready)


async def test_a_kind_stays_ready_while_the_api_server_does_not_answer_at_all(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([thing("a")]))
    scene.server.on("watch", THINGS, Drop())
    async with running(reflector := scene.reflector()):
        await until(lambda: reflector.has_synced.is_set())
        scene.server.on("get", THINGS, Drop())
        before = scene.time.elapsed
        await until(lambda: scene.time.elapsed > before + 3 * FAILING_AFTER)
        assert reflector.ready


async def test_a_kind_that_is_forbidden_or_absent_is_not_ready_and_says_why(scene: Scene) -> None:
    scene.server.on("get", THINGS, failure(403))
    async with running(reflector := scene.reflector()):
        await until(lambda: reflector.phase is Phase.FORBIDDEN)
        assert not reflector.ready
        assert "add to" in reflector.why
    scene.server.on("get", ROOT, serves())
    async with running(reflector := scene.reflector()):
        await until(lambda: reflector.phase is Phase.ABSENT)
        assert not reflector.ready


async def test_a_rotated_token_is_read_again(scene: Scene) -> None:
    scene.server.tokens = {"first"}
    good = Stream(then="hang")
    scene.server.on("get", THINGS, listing([]))
    scene.server.on("watch", THINGS, good, Stream(event("ADDED", thing("a", 101))))
    async with running(reflector := scene.reflector()):
        await until(lambda: reflector.phase is Phase.WATCHING)
        scene.server.tokens = {"second"}
        scene.token.write_text("second")
        scene.time.advance(10)
        good.send(error_event(429))
        await scene.until_told((What.ADDED, "a"))
    assert scene.server.count("watch") == 3


async def test_a_listener_that_fails_does_not_end_the_watch(scene: Scene) -> None:
    scene.server.on("get", THINGS, listing([thing("a")]))
    scene.server.on("watch", THINGS, Stream(event("ADDED", thing("b", 101))))

    def fail(change: Change) -> None:
        scene.changes.append(change)
        raise RuntimeError("as scripted")

    clock = scene.time.clock()
    reflector = Reflector(scene.client, Discovery(scene.client, clock), GVK, "", fail, clock=clock)
    with capture_logs() as logs:
        async with running(reflector):
            await scene.until_told((What.ADDED, "a"), (What.ADDED, "b"))
    assert reflector.restarts == 0
    assert sum(line["log_level"] == "error" for line in logs) == 2
