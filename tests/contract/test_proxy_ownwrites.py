"""The proxy knows which changes the runs made themselves, and counts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from runner.objects import GroupVersionKind
from runner.serve.touched import KEPT
from tests.contract import standin
from tests.contract.standin import OWNER, Answer, Bench

OTHER = GroupVersionKind("app.example.com", "v1", "Other")
PATH = "/api/v1/namespaces/shop/configmaps/c"
META = {"uid": "u1", "resourceVersion": "7"}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_what_a_run_writes_is_its_own(bench: Bench, method: str) -> None:
    await wrote(bench, method, PATH, {"kind": "ConfigMap", "metadata": META})
    assert bench.proxy.own_write("u1", "7")
    assert not bench.proxy.own_write("u1", "8")
    assert not bench.proxy.own_write("u1", "")


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "Status", "status": "Success", "details": {"name": "c", "uid": "u1"}},
        {"kind": "ConfigMap", "metadata": META},
        {"kind": "ConfigMapList", "metadata": {}, "items": [{"metadata": META}]},
    ],
)
async def test_what_a_run_deletes_is_its_own(bench: Bench, body: dict[str, Any]) -> None:
    await wrote(bench, "DELETE", PATH, body)
    assert bench.proxy.own_write("u1", "")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", PATH, 200), ("PUT", PATH, 409), ("PATCH", PATH + "?dryRun=All", 200), ("GET", PATH[:-2], 200)],
)
async def test_a_change_that_no_run_made_is_nobodys(bench: Bench, method: str, path: str, status: int) -> None:
    await wrote(bench, method, path, {"kind": "ConfigMap", "metadata": META}, status)
    assert not bench.proxy.own_write("u1", "7")


async def test_an_own_write_is_known_before_the_run_sees_the_answers_end(bench: Bench) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"metadata": {"uid": "u1",')
        assert not bench.proxy.own_write("u1", "7")
        await response.write(b' "resourceVersion": "7"}}')
        return response

    bench.answer = answer
    with bench.proxy.grant(OWNER) as grant:
        headers = bench.headers(grant)
        async with bench.session.put(bench.url + PATH, data=b"{}", headers=headers) as got:
            assert bench.proxy.own_write("u1", "7")
            assert await got.json() == {"metadata": META}


async def test_settling_waits_for_the_answer_to_a_write_under_way(bench: Bench) -> None:
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        arrived.set()
        await go_on.wait()
        return web.json_response({"metadata": META})

    bench.answer = answer
    with bench.proxy.grant(OWNER) as grant:
        write = asyncio.create_task(bench.ask("PUT", PATH, grant, data=b"{}"))
        await arrived.wait()
        settled = asyncio.create_task(bench.proxy.settle(5))
        go_on.set()
        await settled
        assert bench.proxy.own_write("u1", "7")
        await write


async def test_an_answer_too_long_to_look_at_still_passes_whole(bench: Bench) -> None:
    body = {"kind": "ConfigMap", "metadata": META, "data": {"a": "x" * 5_000_000}}
    bench.answer = answering(body, 200)
    with bench.proxy.grant(OWNER) as grant:
        reply = await bench.ask("PUT", PATH, grant, data=b"{}")
    assert len(reply.body) > 5_000_000
    assert not bench.proxy.own_write("u1", "7")


async def test_a_grant_shows_the_children_as_they_were_answered_last(bench: Bench) -> None:
    owned = {"ownerReferences": [{"uid": OWNER.uid}]}
    answers: list[tuple[str, dict[str, Any]]] = [
        ("PUT", {"metadata": {**META, "managedFields": [1]}, "spec": {"size": 1}}),
        ("GET", {"metadata": {**META, **owned}, "status": {"ready": True}}),
        ("GET", {"metadata": {"uid": "somebody else's"}}),
        ("PUT", {"metadata": {"uid": "u3"}}),
        ("DELETE", {"metadata": {"uid": "u3"}}),
    ]
    with bench.proxy.grant(OWNER) as grant:
        for method, body in answers:
            bench.answer = answering(body, 200)
            await bench.ask(method, PATH, grant, data=b"{}" if method != "GET" else None)
    assert grant.children == ({"metadata": {**META, **owned}, "status": {"ready": True}},)


async def test_a_grant_knows_the_objects_that_its_run_has_written(bench: Bench) -> None:
    metas = [META, META, {"uid": "u2", "resourceVersion": "1"}, {"uid": OWNER.uid, "resourceVersion": "9"}]
    with bench.proxy.grant(OWNER) as grant:
        for meta in metas:
            bench.answer = answering({"metadata": meta}, 200)
            await bench.ask("PATCH", PATH, grant, data=b"{}")
    assert {child["metadata"]["uid"] for child in grant.children} == {"u1", "u2"}


async def test_nothing_of_what_a_run_writes_is_kept_where_no_status_wants_it() -> None:
    async with standin.bench(keeps_children=lambda gvk: gvk.kind == "Other") as bench:
        bench.answer = answering({"metadata": META, "data": {}}, 200)
        with bench.proxy.grant(OWNER) as grant, bench.proxy.grant(replace(OWNER, gvk=OTHER)) as other:
            await bench.ask("PUT", PATH, grant, data=b"{}")
            await bench.ask("PUT", PATH, other, data=b"{}")
    assert (grant.children, len(other.children)) == ((), 1)


async def test_what_is_kept_of_a_run_is_bounded(bench: Bench) -> None:
    text = "x" * (KEPT // 4)
    with bench.proxy.grant(OWNER) as grant:
        for uid in [*"aaaaaa", *"bcdef", "b"]:
            bench.answer = answering({"metadata": {"uid": uid}, "data": text}, 200)
            await bench.ask("PUT", PATH, grant, data=b"{}")
    assert sorted(child["metadata"]["uid"] for child in grant.children) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": []},
        {"metadata": {"uid": ["a"]}},
        {"metadata": {"uid": "u", "ownerReferences": "x"}},
        {"metadata": {"uid": "u", "ownerReferences": ["x"], "annotations": 1}},
        {"kind": "Status", "details": [1]},
        {"items": [[1], {"metadata": 1}, {"items": [{}]}]},
        [1],
    ],
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_an_answer_of_any_shape_passes(bench: Bench, method: str, body: Any) -> None:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response([body, '"ownerReferences"'] if isinstance(body, list) else body)

    bench.answer = answer
    with bench.proxy.grant(OWNER) as grant:
        assert (await bench.ask(method, PATH, grant)).status == 200


async def wrote(bench: Bench, method: str, path: str, body: dict[str, Any], status: int = 200) -> None:
    bench.answer = answering(body, status)
    with bench.proxy.grant(OWNER) as grant:
        await bench.ask(method, path, grant)


def answering(body: dict[str, Any], status: int) -> Answer:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(body, status=status)

    return answer


async def test_a_grant_shows_the_children_that_a_list_holds_with_the_lists_kind(bench: Bench) -> None:
    ref = {"apiVersion": OWNER.gvk.api_version, "kind": OWNER.gvk.kind, "name": OWNER.name, "uid": OWNER.uid}
    own = {"metadata": {"uid": "u1", "ownerReferences": [ref]}}
    strange = {"metadata": {"uid": "u2", "ownerReferences": [{**ref, "uid": "somebody else's"}]}}
    bench.answer = answering({"apiVersion": "v1", "kind": "PodList", "items": [own, strange, {}]}, 200)
    with bench.proxy.grant(OWNER) as grant:
        await bench.ask("GET", PATH.rpartition("/")[0], grant)
    assert grant.children == ({"apiVersion": "v1", "kind": "Pod", **own},)
