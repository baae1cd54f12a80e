"""Discovery's contract: asked once, forgotten when told, and brief about what is not there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.config.settings import ClusterSettings
from runner.errors import ApiError, ConflictError, KindAbsentError, NestedError, NotFoundError
from runner.kube.client import Client
from runner.kube.discovery import STATUS_AGE, Discovery, ObjectsApi
from runner.objects import LEVELS, GroupVersionKind, ObjectKey
from tests.fixtures.apiserver import ApiServer, Reply, failure, serves, serving, thing
from tests.fixtures.clock import FakeClock

GVK = GroupVersionKind("cache.example.com", "v1", "Memcached")
ROOT = "/apis/cache.example.com/v1"
KEY = ObjectKey(GVK, "ns", "a")
PATH = f"{ROOT}/namespaces/ns/memcacheds/a"


@dataclass
class Scene:
    server: ApiServer
    client: Client
    discovery: Discovery
    time: FakeClock


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    time = FakeClock()
    async with serving() as server:
        server.on("get", ROOT, serves(("memcacheds", "Memcached")))
        client = await Client.connect(ClusterSettings(str(server.kubeconfig(tmp_path / "c"))), clock=time.clock())
        yield Scene(server, client, Discovery(client, time.clock()), time)
        await client.close()


async def test_a_kind_is_found_with_its_scope_verbs_and_subresources(scene: Scene) -> None:
    found = await scene.discovery.resource(GVK)
    assert (found.plural, found.namespaced, found.subresources) == ("memcacheds", True, frozenset({"status"}))
    assert "watch" in found.verbs


async def test_a_resource_is_found_by_its_plural(scene: Scene) -> None:
    found = await scene.discovery.by_plural(GVK.group, GVK.version, "memcacheds")
    assert found is not None
    assert found.gvk == GVK
    assert await scene.discovery.by_plural(GVK.group, GVK.version, "others") is None
    assert scene.server.count("get") == 1


async def test_the_path_of_a_resource_follows_its_scope(scene: Scene) -> None:
    scene.server.on("get", "/api/v1", serves(("nodes", "Node"), namespaced=False))
    namespaced = await scene.discovery.resource(GVK)
    cluster = await scene.discovery.resource(GroupVersionKind("", "v1", "Node"))
    assert namespaced.path() == f"{ROOT}/memcacheds"
    assert namespaced.path("ns", "a:b/c", "status") == f"{ROOT}/namespaces/ns/memcacheds/a:b%2Fc/status"
    assert cluster.path("ns", "one") == "/api/v1/nodes/one"


async def test_lookups_at_the_same_time_share_one_request(scene: Scene) -> None:
    await asyncio.gather(*(scene.discovery.resource(GVK) for _ in range(20)))
    assert scene.server.count("get") == 1


async def test_an_absent_kind_is_asked_for_again_after_a_moment_only(scene: Scene) -> None:
    scene.server.on("get", ROOT, failure(404), serves(("memcacheds", "Memcached")))
    for _ in range(3):
        with pytest.raises(KindAbsentError, match="CustomResourceDefinition"):
            await scene.discovery.resource(GVK)
    scene.time.advance(6)
    assert (await scene.discovery.resource(GVK)).plural == "memcacheds"
    assert scene.server.count("get") == 2


async def test_a_kind_that_was_forgotten_is_asked_for_again(scene: Scene) -> None:
    await scene.discovery.resource(GVK)
    scene.discovery.forget(GVK)
    await scene.discovery.resource(GVK)
    assert scene.server.count("get") == 2


async def test_a_server_that_cannot_say_is_not_taken_for_a_no(scene: Scene) -> None:
    scene.server.on("get", ROOT, failure(503), failure(503), failure(503), serves(("memcacheds", "Memcached")))
    with pytest.raises(ApiError):
        await scene.discovery.resource(GVK)
    assert (await scene.discovery.resource(GVK)).plural == "memcacheds"


async def test_an_object_is_read_live_and_written_back(scene: Scene) -> None:
    objects = ObjectsApi(scene.client, scene.discovery)
    body = thing("a", 3)
    scene.server.on("get", PATH, Reply(body))
    scene.server.on("put", PATH, Reply(thing("a", 4)))
    scene.server.on("put", f"{PATH}/status", failure(409, "Conflict"))
    assert await objects.get(KEY) == body
    assert (await objects.replace(KEY, body))["metadata"]["resourceVersion"] == "4"
    with pytest.raises(ConflictError):
        await objects.replace_status(KEY, body)
    assert [asked.body for asked in scene.server.seen("put")] == [body, body]
    assert await objects.has_status(KEY)


async def test_an_object_that_is_gone_is_not_found(scene: Scene) -> None:
    with pytest.raises(NotFoundError):
        await ObjectsApi(scene.client, scene.discovery).get(KEY)


async def test_a_kind_without_status_says_so(scene: Scene) -> None:
    scene.server.on("get", ROOT, serves(("memcacheds", "Memcached"), status=False))
    assert not await ObjectsApi(scene.client, scene.discovery).has_status(KEY)


async def test_a_status_subresource_that_is_added_later_is_noticed(scene: Scene) -> None:
    kinds = ("memcacheds", "Memcached")
    scene.server.on("get", ROOT, serves(kinds, status=False), serves(kinds))
    objects = ObjectsApi(scene.client, scene.discovery)
    assert [await objects.has_status(KEY) for _ in range(3)] == [False] * 3
    scene.time.advance(STATUS_AGE + 1)
    assert [await objects.has_status(KEY) for _ in range(3)] == [True] * 3
    assert scene.server.count("get") == 2


async def test_a_status_subresource_that_is_removed_is_noticed_when_its_kind_is_forgotten(scene: Scene) -> None:
    objects = ObjectsApi(scene.client, scene.discovery)
    assert await objects.has_status(KEY)
    scene.server.on("get", ROOT, serves(("memcacheds", "Memcached"), status=False))
    objects.forget_kind(GVK)
    assert not await objects.has_status(KEY)


@pytest.mark.parametrize("levels", [LEVELS + 1, 2_000])
async def test_an_object_that_is_nested_too_deeply_is_told_with_what_can_be_read_of_it(
    scene: Scene, levels: int
) -> None:
    fields = [{"manager": "kubectl", "fieldsV1": {}}]
    status = {"conditions": [{"type": "Running"}]}
    whole = {**thing("a", managedFields=fields), "status": status, "spec": "DEEP"}
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    scene.server.on("get", PATH, Reply(json.dumps(whole).encode().replace(b'"DEEP"', deep)))
    with pytest.raises(NestedError, match=r"^spec is nested deeper than 128 levels: make it flatter$") as caught:
        await ObjectsApi(scene.client, scene.discovery).get(KEY)
    assert caught.value.fields == ("spec",)
    assert caught.value.body == {**thing("a"), "status": status}
