"""The recorder's contract: people see what happened, once and counted, and a reconcile never notices."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from runner.config.settings import ClusterSettings
from runner.kube.client import Client
from runner.kube.recorder import QUEUE, EventType, Recorder
from runner.objects import GroupVersionKind, ObjectKey
from tests.fixtures.apiserver import ApiServer, Reply, failure, serving
from tests.fixtures.clock import FakeClock
from tests.fixtures.waiting import until

GVK = GroupVersionKind("cache.example.com", "v1", "Memcached")
KEY = ObjectKey(GVK, "ns", "a")
EVENTS = "/api/v1/namespaces/ns/events"
DEADLINE = 30.0


@dataclass
class Scene:
    server: ApiServer
    recorder: Recorder
    time: FakeClock

    def say(
        self, message: str = "it works", *, key: ObjectKey = KEY, uid: str = "u", type_: EventType = "Normal"
    ) -> None:
        self.recorder.record(key, uid, type_, "Running", message)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    time = FakeClock()
    async with serving() as server:
        server.on("post", EVENTS, Reply({}, 201))
        client = await Client.connect(ClusterSettings(str(server.kubeconfig(tmp_path / "c"))), clock=time.clock())
        recorder = Recorder(client, clock=time.clock())
        task = asyncio.create_task(recorder.run())
        yield Scene(server, recorder, time)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await client.close()


async def test_an_event_names_the_object_the_reason_and_who_says_it(scene: Scene) -> None:
    scene.say()
    await until(lambda: scene.server.count("post"))
    body = scene.server.asked[0].body
    assert body["metadata"]["name"].startswith("a.")
    assert body["involvedObject"] == {
        "apiVersion": "cache.example.com/v1", "kind": "Memcached", "name": "a", "namespace": "ns", "uid": "u"
    }  # fmt: skip
    assert (body["type"], body["reason"], body["message"]) == ("Normal", "Running", "it works")
    assert (body["reportingComponent"], body["source"]) == ("ansible-operator", {"component": "ansible-operator"})
    assert body["firstTimestamp"] == body["lastTimestamp"] == "1970-01-12T13:46:40Z"


async def test_a_cluster_scoped_objects_event_lives_in_default(scene: Scene) -> None:
    path = "/api/v1/namespaces/default/events"
    scene.say(key=ObjectKey(GVK, "", "wide"))
    await until(lambda: scene.server.count("post", path))
    assert "namespace" not in scene.server.asked[0].body["involvedObject"]


async def test_an_event_that_is_said_again_is_counted(scene: Scene) -> None:
    scene.say()
    await until(lambda: scene.server.count("post"))
    path = f"{EVENTS}/{scene.server.asked[0].body['metadata']['name']}"
    scene.server.on("patch", path, Reply({}))
    scene.time.advance(60)
    scene.say()
    scene.say()
    await until(lambda: scene.server.count("patch") == 2)
    assert scene.server.count("post") == 1
    assert scene.server.asked[-1].body == {"count": 3, "lastTimestamp": "1970-01-12T13:47:40Z"}


@pytest.mark.parametrize("what", ["expired", "long ago"])
async def test_an_event_is_written_anew_when_the_one_before_is_gone(scene: Scene, what: str) -> None:
    scene.say()
    await until(lambda: scene.server.count("post"))
    if what == "long ago":
        scene.time.advance(3600)
    scene.say()
    await until(lambda: scene.server.count("post") == 2)
    assert scene.server.count("patch") == (what == "expired")


async def test_one_object_cannot_flood_and_does_not_silence_another(scene: Scene) -> None:
    for number in range(100):
        scene.say(f"{number}", type_="Warning")
    scene.say(uid="other")
    await until(lambda: scene.server.asked and scene.server.asked[-1].body["involvedObject"]["uid"] == "other")
    assert scene.server.count("post") == 26
    scene.time.advance(301)
    scene.say("later", type_="Warning")
    scene.say("too much", type_="Warning")
    await until(lambda: scene.server.count("post") == 27)
    assert scene.server.asked[-1].body["message"] == "later"


async def test_what_is_normal_leaves_room_for_a_warning(scene: Scene) -> None:
    for number in range(100):
        scene.say(f"{number}")
    scene.say("it broke", type_="Warning")
    await until(lambda: scene.server.asked and scene.server.asked[-1].body["message"] == "it broke")
    assert scene.server.count("post") == 16


async def test_forbidden_is_told_once_with_what_to_do_and_then_left_alone(scene: Scene) -> None:
    scene.server.on("post", EVENTS, failure(403, "Forbidden"), failure(403, "Forbidden"), Reply({}, 201))
    with capture_logs() as logs:
        scene.say("one")
        scene.say("two")
        await scene.recorder.drained(DEADLINE)
        scene.time.advance(301)
        scene.say("three")
        await scene.recorder.drained(DEADLINE)  # a request that was received is not yet an answer that was read
        scene.time.advance(301)
        scene.say("four")
        await scene.recorder.drained(DEADLINE)
    assert [asked.body["message"] for asked in scene.server.asked] == ["one", "three", "four"]
    assert len(logs) == 1
    assert 'resources: ["events"]' in logs[0]["todo"]


async def test_a_transient_error_is_waited_out_for_a_while(scene: Scene) -> None:
    scene.server.on("post", EVENTS, failure(503), Reply({}, 201))
    scene.say()
    await until(lambda: scene.server.count("post") == 2)
    assert scene.time.slept == [0.5]


async def test_an_event_that_cannot_be_written_makes_way_for_the_next(scene: Scene) -> None:
    scene.server.on("post", EVENTS, failure(500), failure(500), failure(500), failure(422), Reply({}, 201))
    for message in ("stormy", "invalid", "good"):
        scene.say(message)
    await until(lambda: scene.server.count("post") == 5)
    assert scene.server.asked[-1].body["message"] == "good"


async def test_a_long_message_and_a_long_name_are_cut_to_what_is_accepted(scene: Scene) -> None:
    scene.say("x" * 5000, key=ObjectKey(GVK, "ns", "n" * 253))
    await until(lambda: scene.server.count("post"))
    body = scene.server.asked[0].body
    assert len(body["message"]) == 1024
    assert len(body["metadata"]["name"]) <= 253


async def test_a_full_queue_drops_and_does_not_raise(scene: Scene) -> None:
    for number in range(QUEUE + 50):
        scene.say(uid=str(number), key=ObjectKey(GVK, "ns", str(number)))
    await until(lambda: scene.server.count("post") == QUEUE)
