"""The proxy marks what a run creates, and notes everything that it reads, however it asks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from runner.marks import MARK, Marks, ObjectName
from runner.objects import GroupVersionKind
from runner.serve.grants import Grant
from runner.serve.touched import Touched
from tests.contract.standin import OWNER, Answer, Bench

MARKS = Marks(b"k" * 32)
MAPS = "/api/v1/namespaces/shop/configmaps"
NAME = ObjectName("", "ConfigMap", "shop", "a")


async def nobody(_kind: GroupVersionKind, _namespace: str) -> None:
    """Nobody keeps account."""


def account(grant: Grant) -> Touched:
    return grant.take_account(nobody, MARKS)


def answering(body: dict[str, Any]) -> Answer:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(body)

    return answer


def stored(**metadata: Any) -> dict[str, Any]:
    meta = {"name": "a", "namespace": "shop", "uid": "u1", "resourceVersion": "7", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


async def test_an_object_that_a_run_creates_arrives_with_its_mark(bench: Bench) -> None:
    with bench.proxy.grant(OWNER) as grant:
        account(grant)
        await bench.ask("POST", MAPS, grant, json={"metadata": {"name": "a"}})
    annotations = json.loads(bench.bodies[0])["metadata"]["annotations"]
    assert MARKS.creator(annotations, NAME) == OWNER.uid


async def test_nothing_is_marked_for_a_run_that_nobody_follows(bench: Bench) -> None:
    with bench.proxy.grant(OWNER) as grant:
        await bench.ask("POST", MAPS, grant, json={"metadata": {"name": "a"}})
    assert b"annotations" not in bench.bodies[0]


async def test_an_object_that_a_run_writes_without_a_mark_is_noted_as_last_answered(bench: Bench) -> None:
    with bench.proxy.grant(OWNER) as grant:
        touched = account(grant)
        for version in "12":
            bench.answer = answering(stored(resourceVersion=version))
            await bench.ask("PATCH", f"{MAPS}/a", grant, data=b"{}")
    [unmarked] = touched.unmarked.values()
    assert (str(unmarked.key), unmarked.meta.resource_version) == ("ConfigMap shop/a", "2")
    assert not unmarked.created


async def test_an_object_whose_name_the_api_server_made_is_noted_as_created(bench: Bench) -> None:
    bench.answer = answering(stored(name="a-x7f"))
    with bench.proxy.grant(OWNER) as grant:
        touched = account(grant)
        await bench.ask("POST", MAPS, grant, json={"metadata": {"generateName": "a-"}})
    assert [unmarked.created for unmarked in touched.unmarked.values()] == [True]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_request_that_the_api_server_fails_to_answer_is_noted(bench: Bench, status: int) -> None:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({}, status=status)

    bench.answer = answer
    with bench.proxy.grant(OWNER) as grant:
        touched = account(grant)
        await bench.ask("GET", "/apis/down.example.com/v1", grant)
    assert touched.unanswered == f"GET /apis/down.example.com/v1 was answered with {status}"


async def test_an_absent_object_is_an_answer(bench: Bench) -> None:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({}, status=404)

    bench.answer = answer
    with bench.proxy.grant(OWNER) as grant:
        touched = account(grant)
        await bench.ask("GET", f"{MAPS}/a", grant)
    assert touched.unanswered == ""


async def test_a_deletion_of_many_objects_shows_none_of_them(bench: Bench) -> None:
    bench.answer = answering(
        {"kind": "ConfigMapList", "items": [{"metadata": {"name": "b", "namespace": "shop"}}]}
    )
    with bench.proxy.grant(OWNER) as grant:
        touched = account(grant)
        await bench.ask("DELETE", MAPS, grant)
        bench.answer = answering({"kind": "Table", "rows": []})
        await bench.ask("GET", MAPS, grant)
    assert touched.unclear("configmaps")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"{MAPS}/a", stored()),
        ("PATCH", f"{MAPS}/a/status", stored()),
        ("PATCH", f"{MAPS}/a?dryRun=All", stored()),
        ("DELETE", f"{MAPS}/a", stored()),
        ("PATCH", f"{MAPS}/a", stored(annotations={MARK: MARKS.mark(OWNER.uid, NAME)})),
        ("PATCH", f"{MAPS}/a", stored(annotations={MARK: MARKS.mark("uid-of-another", NAME)})),
    ],
    ids=[
        "only reads",
        "writes a status",
        "tries a write",
        "deletes",
        "writes what is marked",
        "is marked by another",
    ],
)
async def test_no_mark_is_missing_where_a_run(bench: Bench, method: str, path: str, body: dict[str, Any]) -> None:
    bench.answer = answering(body)
    with bench.proxy.grant(OWNER) as grant:
        touched = account(grant)
        await bench.ask(method, path, grant)
    assert touched.unmarked == {}


@pytest.mark.parametrize("protocol", ["h2c", "websocket"])
async def test_a_request_that_offers_another_protocol_counts_as_reading(bench: Bench, protocol: str) -> None:
    headers = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": protocol, "HTTP2-Settings": "AAMAAABk"}
    with bench.proxy.grant(OWNER) as grant:
        touched = account(grant)
        reader, writer = await asyncio.open_connection("127.0.0.1", bench.proxy.port)
        lines = {"Host": "localhost", **bench.headers(grant), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"GET {MAPS}/a HTTP/1.1\r\n{head}\r\n".encode())
        status = await reader.readline()
        writer.close()
    assert status.split()[1] == b"200"
    assert touched.names == {("configmaps", "shop", "a")}


async def test_an_offer_of_http2_is_answered_as_a_request_without_it(bench: Bench) -> None:
    headers = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABk"}
    bench.answer = answering(stored())
    with bench.proxy.grant(OWNER) as grant:
        reply = await bench.ask("GET", f"{MAPS}/a", grant, headers=headers)
    assert (reply.status, json.loads(reply.body)["metadata"]["name"]) == (200, "a")
    assert not {"Upgrade", "HTTP2-Settings"} & set(bench.seen[0].headers)


async def test_only_objects_of_this_very_custom_resource_tell_where_its_objects_are(bench: Bench) -> None:
    scopes: list[tuple[str, str]] = []

    async def record(kind: GroupVersionKind, namespace: str) -> None:
        scopes.append((kind.kind, namespace))

    def owned(namespace: str, uid: str) -> dict[str, Any]:
        reference = {"apiVersion": "app.example.com/v1", "kind": "Database", "name": "orders", "uid": uid}
        return {"metadata": {"name": "a", "namespace": namespace, "uid": "u", "ownerReferences": [reference]}}

    items = [owned("theirs", "uid-of-another"), owned("ours", OWNER.uid)]
    bench.answer = answering({"apiVersion": "v1", "kind": "ConfigMapList", "items": items})
    with bench.proxy.grant(OWNER) as grant:
        grant.take_account(record, MARKS)
        await bench.ask("GET", "/api/v1/configmaps", grant)
    assert scopes == [("ConfigMap", "ours")]
