"""What a role creates through the proxy becomes its custom resource's dependent, and is told of once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from runner.errors import ApiError, ForbiddenError, KubeError, UnreachableError
from runner.serve.ownership import Mechanism
from tests.contract import standin
from tests.contract.standin import OWNER, Bench

SHOP = "/api/v1/namespaces/shop/configmaps"
OTHER = "/api/v1/namespaces/other/configmaps"
REFERENCE = {"apiVersion": "app.example.com/v1", "kind": "Database", "name": "orders", "uid": "uid-orders"}
ANNOTATIONS = {
    "operator-sdk/primary-resource": "shop/orders",
    "operator-sdk/primary-resource-type": "Database.app.example.com",
}
BODY: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"ü": "1"}}


async def test_an_object_in_the_owners_namespace_gets_an_owner_reference(bench: Bench) -> None:
    arrived = await created(bench, SHOP, BODY)
    assert arrived == {**BODY, "metadata": {"name": "c", "ownerReferences": [REFERENCE]}}
    assert bench.told == [("ConfigMap", Mechanism.OWNER_REFERENCE, "shop")]


async def test_an_object_elsewhere_gets_annotations(bench: Bench) -> None:
    arrived = await created(bench, OTHER, BODY)
    assert arrived["metadata"] == {"name": "c", "annotations": ANNOTATIONS}
    assert bench.told == [("ConfigMap", Mechanism.ANNOTATION, "other")]


async def test_a_cluster_scoped_object_gets_annotations(bench: Bench) -> None:
    arrived = await created(bench, "/api/v1/namespaces", {"kind": "Namespace", "metadata": {"generateName": "x-"}})
    assert arrived["metadata"]["annotations"] == ANNOTATIONS
    assert bench.told == [("Namespace", Mechanism.ANNOTATION, "")]


async def test_a_yaml_body_is_injected_and_goes_on_as_json(bench: Bench) -> None:
    with bench.proxy.grant(OWNER) as grant:
        yaml = b"kind: ConfigMap\nmetadata: {name: c}\ndata: {day: 2026-01-01}\n"
        await bench.ask("POST", SHOP, grant, data=yaml, headers={"Content-Type": "application/yaml"})
    arrived = json.loads(bench.bodies[0])
    assert (arrived["metadata"]["ownerReferences"], arrived["data"]) == ([REFERENCE], {"day": "2026-01-01"})
    assert bench.seen[0].content_type == "application/json"


@pytest.mark.parametrize(
    ("method", "path", "content_type", "body"),
    [
        ("PUT", SHOP + "/c", "application/json", b'{"kind": "ConfigMap"}'),
        ("PATCH", SHOP + "/c", "application/apply-patch+yaml", b"kind: ConfigMap"),
        ("DELETE", SHOP + "/c", "application/json", b'{"kind": "DeleteOptions"}'),
        ("POST", "/api/v1/namespaces/shop/pods/p/eviction", "application/json", b'{"kind": "Eviction"}'),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json", b'{"kind": "S"}'),
        ("POST", "/apis/nobody.knows/v1/namespaces/shop/things", "application/json", b'{"kind": "Thing"}'),
        ("POST", SHOP, "application/vnd.kubernetes.protobuf", b"no protobuf"),
        ("POST", SHOP, "application/json", b'{"kind": "ConfigMap", '),
        ("POST", SHOP, "application/json", b'["no object"]'),
        ("POST", SHOP, "application/json", b'{"metadata": {"ownerReferences": "odd"}}'),
        ("POST", "/apis", "application/json", b"{}"),
    ],
)
async def test_a_request_that_creates_no_plain_object_passes_untouched(
    bench: Bench, method: str, path: str, content_type: str, body: bytes
) -> None:
    with bench.proxy.grant(OWNER) as grant:
        reply = await bench.ask(method, path, grant, data=body, headers={"Content-Type": content_type})
    assert (reply.status, bench.bodies, bench.told) == (200, [body], [])
    assert bench.seen[0].headers["Content-Type"] == content_type


async def test_an_object_whose_kind_may_not_be_looked_up_passes_untouched(bench: Bench) -> None:
    bench.discovery.error = ForbiddenError(403, "Forbidden", "discovery is not allowed")
    assert await created(bench, SHOP, BODY) == BODY


@pytest.mark.parametrize(
    "error", [UnreachableError("discovery is down"), ApiError(500, "InternalError", "discovery is down")]
)
async def test_an_object_is_not_created_while_its_kind_cannot_be_looked_up(bench: Bench, error: KubeError) -> None:
    bench.discovery.error = error
    with bench.proxy.grant(OWNER) as grant:
        reply = await bench.ask("POST", SHOP, grant, json=BODY)
    assert (reply.status, json.loads(reply.body)["reason"], bench.bodies) == (503, "ServiceUnavailable", [])
    assert "discovery is down" in json.loads(reply.body)["message"]


async def test_without_injection_nothing_is_touched_or_told() -> None:
    async with standin.bench(inject=False) as bench:
        assert await created(bench, SHOP, BODY) == BODY
        assert bench.told == []


async def test_each_combination_is_told_of_once(bench: Bench) -> None:
    for path in (SHOP, SHOP, OTHER, OTHER):
        await created(bench, path, BODY)
    assert len(bench.told) == 2


@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT"])
@pytest.mark.parametrize(
    ("metadata", "mechanism"),
    [
        ({"ownerReferences": [{**REFERENCE, "uid": "another"}]}, Mechanism.OWNER_REFERENCE),
        ({"annotations": {**ANNOTATIONS, "operator-sdk/primary-resource": "a/b"}}, Mechanism.ANNOTATION),
    ],
)
async def test_a_dependent_from_before_a_restart_is_recognised_when_it_is_seen(
    bench: Bench, method: str, metadata: dict[str, Any], mechanism: Mechanism
) -> None:
    bench.answer = answering({"kind": "ConfigMap", "metadata": {"uid": "u", "resourceVersion": "1", **metadata}})
    with bench.proxy.grant(OWNER) as grant:
        for _ in range(2):
            await bench.ask(method, SHOP + "/c", grant)
    assert bench.told == [("ConfigMap", mechanism, "shop")]


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"ownerReferences": [{**REFERENCE, "kind": "Cache"}]},
        {"annotations": {"operator-sdk/primary-resource-type": "Database.other.group"}},
    ],
)
async def test_an_object_of_nobody_or_of_another_kind_is_not_told_of(
    bench: Bench, metadata: dict[str, Any]
) -> None:
    bench.answer = answering({"kind": "ConfigMap", "metadata": metadata})
    with bench.proxy.grant(OWNER) as grant:
        await bench.ask("GET", SHOP + "/c", grant)
    assert bench.told == []


async def created(bench: Bench, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The body as it arrived at the API server."""
    with bench.proxy.grant(OWNER) as grant:
        reply = await bench.ask("POST", path, grant, json=body)
    assert reply.status == 200
    return dict(json.loads(bench.bodies[-1]))


def answering(body: dict[str, Any]) -> standin.Answer:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(body)

    return answer


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/api/v1/namespaces%2Fshop%2Fconfigmaps", {}),
        ("/%61pi/v1/namespaces/shop/config%6Daps/", {}),
        (SHOP, {"Content-Encoding": "gzip"}),  # which the API server ignores
        (SHOP, {"Connection": "Upgrade", "Upgrade": "websocket"}),
        (SHOP + "?dryRun=%zz", {}),
    ],
)
async def test_a_creation_in_disguise_gets_its_owner(bench: Bench, path: str, headers: dict[str, str]) -> None:
    await raw_post(bench, path, json.dumps(BODY).encode(), headers)
    assert json.loads(bench.bodies[0])["metadata"]["ownerReferences"] == [REFERENCE]
    assert bench.seen[0].raw_path == path
    assert bench.proxy.own_write("u1", "7")


@pytest.mark.parametrize("path", [SHOP + "#x", "http://elsewhere" + SHOP, "*"])
async def test_a_request_that_would_arrive_as_another_is_refused(bench: Bench, path: str) -> None:
    status = await raw_post(bench, path, json.dumps(BODY).encode())
    assert (status, bench.seen) == (400, [])


@pytest.mark.parametrize(
    ("body", "content_type", "why"),
    [
        (b'{"spec": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "application/json", "too many levels"),
        (
            b"a: &a [x, x]\nb: &b [" + b"*a, " * 5000 + b"]\nc: [" + b"*b, " * 5000 + b"]",
            "application/yaml",
            "aliases",
        ),
        (b"kind: ConfigMap\n---\nkind: Other", "application/yaml", "cannot be read"),
        (b"k8s\x00\x01", "application/vnd.kubernetes.protobuf", "protobuf"),
    ],
)
async def test_what_cannot_be_given_its_owner_is_refused_with_the_reason(
    bench: Bench, body: bytes, content_type: str, why: str
) -> None:
    with bench.proxy.grant(OWNER) as grant:
        reply = await bench.ask("POST", SHOP, grant, data=body, headers={"Content-Type": content_type})
    status = json.loads(reply.body)
    assert (reply.status, status["reason"], bench.seen) == (400, "BadRequest", [])
    assert why in status["message"]


async def raw_post(bench: Bench, target: str, body: bytes, headers: dict[str, str] | None = None) -> int:
    """The status of a request whose target no client library has put in order."""
    reader, writer = await asyncio.open_connection("127.0.0.1", bench.proxy.port)
    with bench.proxy.grant(OWNER) as grant:
        every = {"Host": "x", "Content-Length": str(len(body)), **bench.headers(grant), **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in every.items())
        writer.write(f"POST {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
        line = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    return int(line.split()[1])


@pytest.mark.parametrize("content_type", ["application/cbor", "application/cbor-seq", "text/plain"])
async def test_an_object_in_a_format_that_is_not_understood_is_not_created(
    bench: Bench, content_type: str
) -> None:
    with bench.proxy.grant(OWNER) as grant:
        headers = {"Content-Type": content_type}
        reply = await bench.ask("POST", SHOP, grant, data=b"\xa1\x64kindcPod", headers=headers)
    status = json.loads(reply.body)
    assert (reply.status, status["reason"], bench.seen) == (415, "UnsupportedMediaType", [])
    assert content_type in status["message"]
