"""What a role creates through the proxy becomes its custom resource's dependent, and is told of once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from runner.errors import UnreachableError
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
        ("POST", SHOP, "application/vnd.kubernetes.protobuf", b"k8s\x00\x01"),
        ("POST", SHOP, "application/json", b'{"kind": "ConfigMap", '),
        ("POST", SHOP, "application/json", b'["no object"]'),
        ("POST", SHOP, "application/json", b'{"metadata": {"ownerReferences": "odd"}}'),
        ("POST", "/apis", "application/json", b"{}"),
    ],
)
async def test_everything_else_passes_untouched(
    bench: Bench, method: str, path: str, content_type: str, body: bytes
) -> None:
    with bench.proxy.grant(OWNER) as grant:
        reply = await bench.ask(method, path, grant, data=body, headers={"Content-Type": content_type})
    assert (reply.status, bench.bodies, bench.told) == (200, [body], [])
    assert bench.seen[0].headers["Content-Type"] == content_type


async def test_an_object_whose_kind_cannot_be_looked_up_passes_untouched(bench: Bench) -> None:
    bench.discovery.error = UnreachableError("discovery is down")
    assert await created(bench, SHOP, BODY) == BODY


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
