"""The operator's own objects cannot be changed through the API proxy, nor its Secrets be read."""

from __future__ import annotations

import json

import pytest

from runner.serve.protected import EVERY, ProtectedObject
from tests.contract.standin import OWNER, Bench

SECRET = ProtectedObject("", "secrets", "operators", "webhook-cert")
WEBHOOKS = ProtectedObject("admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "webhooks")
SECRETS = "/api/v1/namespaces/operators/secrets"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "path",
    [
        f"{SECRETS}/webhook-cert",
        f"{SECRETS}/webhook-cert?dryRun=All",
        f"{SECRETS}/webhook%2Dcert",
        "/api/v1/namespaces/operators%2Fsecrets/webhook-cert",
        f"{SECRETS}/webhook-cert/status",
        "/api/v1/watch/namespaces/operators/secrets/webhook-cert",
    ],
)
async def test_a_run_neither_reads_nor_changes_a_protected_secret(bench: Bench, method: str, path: str) -> None:
    bench.proxy.protection.protect("webhooks", [SECRET])
    with bench.proxy.grant(OWNER) as grant:
        answer = await bench.ask(method, path, grant)
    assert (answer.status, bench.seen) == (403, [])
    assert "secrets operators/webhook-cert is the operator's own" in json.loads(answer.body)["message"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", f"{CONFIGURATIONS}/webhooks"),
        ("PATCH", f"{CONFIGURATIONS}/webhooks"),
        ("DELETE", f"{CONFIGURATIONS}/webhooks"),
        ("DELETE", CONFIGURATIONS),
        ("DELETE", f"{CONFIGURATIONS}?labelSelector=app%3Dshop"),
        ("PATCH", f"{CONFIGURATIONS.replace('/v1/', '/v1beta1/')}/webhooks"),
    ],
)
async def test_a_run_does_not_change_the_webhooks_that_the_operator_serves(
    bench: Bench, method: str, path: str
) -> None:
    bench.proxy.protection.protect("webhooks", [WEBHOOKS])
    with bench.proxy.grant(OWNER) as grant:
        answer = await bench.ask(method, path, grant)
    assert (answer.status, bench.seen) == (403, [])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{CONFIGURATIONS}/webhooks"),
        ("PATCH", f"{CONFIGURATIONS}/of-somebody-else"),
        ("POST", CONFIGURATIONS),
        ("PATCH", CONFIGURATIONS.replace("validating", "mutating") + "/webhooks"),
        ("POST", SECRETS),
        ("PATCH", f"{SECRETS}/password"),
        ("PATCH", "/api/v1/namespaces/shop/secrets/webhook-cert"),
        ("PATCH", "/api/v1/namespaces/operators/configmaps/webhook-cert"),
        ("GET", "/version"),
    ],
)
async def test_every_other_object_can_be_read_and_changed(bench: Bench, method: str, path: str) -> None:
    bench.proxy.protection.protect("webhooks", [SECRET, WEBHOOKS])
    with bench.proxy.grant(OWNER) as grant:
        answer = await bench.ask(method, path, grant)
    assert answer.status == 200


async def test_while_the_names_are_unknown_no_object_of_the_resource_can_be_changed(bench: Bench) -> None:
    unknown = ProtectedObject(WEBHOOKS.group, WEBHOOKS.plural, "", EVERY)
    bench.proxy.protection.protect("webhooks", [unknown])
    with bench.proxy.grant(OWNER) as grant:
        refused = [
            (await bench.ask(method, path, grant)).status
            for method, path in (("PATCH", f"{CONFIGURATIONS}/any"), ("POST", CONFIGURATIONS))
        ]
        bench.proxy.protection.protect("webhooks", [WEBHOOKS])
        passed = await bench.ask("PATCH", f"{CONFIGURATIONS}/any", grant)
    assert (refused, passed.status) == ([403, 403], 200)


async def test_one_part_of_the_operator_does_not_lift_the_protection_of_another(bench: Bench) -> None:
    bench.proxy.protection.protect("webhooks", [WEBHOOKS])
    bench.proxy.protection.protect("prune", [SECRET])
    with bench.proxy.grant(OWNER) as grant:
        statuses = [
            (await bench.ask("DELETE", path, grant)).status
            for path in (f"{CONFIGURATIONS}/webhooks", f"{SECRETS}/webhook-cert")
        ]
    assert statuses == [403, 403]


async def test_a_list_of_secrets_leaves_the_protected_one_out(bench: Bench) -> None:
    bench.proxy.protection.protect("webhooks", [SECRET, WEBHOOKS])
    with bench.proxy.grant(OWNER) as grant:
        answer = await bench.ask("GET", f"{SECRETS}?limit=5", grant)
    assert answer.status == 200
    (request,) = bench.seen
    assert request.raw_path == f"{SECRETS}?limit=5&fieldSelector=metadata.name%21%3Dwebhook-cert"


async def test_secrets_are_not_watched_by_an_upgraded_request(bench: Bench) -> None:
    bench.proxy.protection.protect("webhooks", [SECRET])
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
    with bench.proxy.grant(OWNER) as grant:
        answer = await bench.ask("GET", f"{SECRETS}?watch=1", grant, headers=upgrade)
    assert (answer.status, bench.seen) == (403, [])
