"""Which objects the proxy gives their owner."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, Row
from tests.parity.tables.proxy import answer, status


def owners(facts: Facts, name: str) -> Any:
    return facts[name]["metadata"].get("ownerReferences", [])


def notes(facts: Facts, name: str) -> Any:
    return facts[name]["metadata"].get("annotations", {})


def owner(facts: Facts) -> list[dict[str, str]]:
    return [
        {"apiVersion": f"{facts['group']}/v1", "kind": "Owner", "name": "asker", "uid": facts["uids"]["owner"]}
    ]


def realm(facts: Facts) -> list[dict[str, str]]:
    return [
        {
            "apiVersion": f"{facts['group']}/v1",
            "kind": "Realm",
            "name": facts["realm name"],
            "uid": facts["uids"]["realm"],
        }
    ]


def primary(facts: Facts) -> dict[str, str]:
    return {
        "operator-sdk/primary-resource": f"{facts['namespace']}/asker",
        "operator-sdk/primary-resource-type": f"Owner.{facts['group']}",
    }


INJECTION = (
    Row(
        id="inject-same-namespace",
        says="POST in the owner's namespace: ownerReference",
        batch="proxy",
        seen=lambda f: owners(f, "json") == owner(f),
    ),
    Row(
        id="inject-reference-only",
        says="and no annotations",
        batch="proxy",
        seen=lambda f: notes(f, "json"),
        expected={},
    ),
    Row(
        id="inject-other-namespace",
        says="POST elsewhere: annotations",
        batch="proxy",
        seen=lambda f: notes(f, "elsewhere") == {**primary(f), "mine": "kept"},
    ),
    Row(
        id="inject-other-namespace-only",
        says="and no ownerReference",
        batch="proxy",
        seen=lambda f: owners(f, "elsewhere"),
        expected=[],
    ),
    Row(
        id="inject-overwritten",
        says="the annotations overwrite what was there",
        batch="proxy",
        seen=lambda f: notes(f, "elsewhere")["operator-sdk/primary-resource"] == f"{f['namespace']}/asker",
    ),
    Row(
        id="inject-cluster-dependent",
        says="POST of a cluster-scoped object: annotations",
        batch="proxy",
        seen=lambda f: (notes(f, "cluster role") == primary(f), owners(f, "cluster role")),
        expected=(True, []),
    ),
    Row(
        id="inject-cluster-owner",
        says="a cluster-scoped owner: ownerReference",
        batch="proxy",
        seen=lambda f: owners(f, "realm") == realm(f),
    ),
    Row(
        id="inject-cluster-owner-cluster",
        says="also on a cluster-scoped object",
        batch="proxy",
        seen=lambda f: owners(f, "cluster realm") == realm(f),
    ),
    Row(
        id="inject-appended",
        says="appended to those that are there",
        batch="proxy",
        seen=lambda f: ([item["name"] for item in owners(f, "appended")], owners(f, "appended")[1:] == owner(f)),
        expected=(["there", "asker"], True),
    ),
    Row(
        id="inject-put",
        says="PUT is never changed",
        batch="proxy",
        seen=lambda f: (status(f, "put"), owners(f, "there")),
        expected=(200, []),
    ),
    Row(
        id="inject-patch",
        says="nor PATCH",
        batch="proxy",
        seen=lambda f: (status(f, "patch"), owners(f, "there")),
        expected=(200, []),
    ),
    Row(
        id="inject-apply",
        says="nor server-side apply",
        batch="proxy",
        seen=lambda f: (status(f, "apply"), owners(f, "applied"), notes(f, "applied")),
        expected=(201, [], {}),
    ),
    Row(id="inject-delete", says="nor DELETE", batch="proxy", seen=lambda f: status(f, "delete"), expected=200),
    Row(
        id="inject-subresource",
        says="nor POST to a subresource",
        batch="proxy",
        seen=lambda f: (status(f, "subresource"), "ownerReferences" in answer(f, "subresource")["metadata"]),
        expected=(201, False),
    ),
    Row(
        id="inject-virtual",
        says="nor what cannot be read back",
        batch="proxy",
        seen=lambda f: (status(f, "review"), answer(f, "review")["status"]["allowed"]),
        expected=(201, True),
    ),
    Row(
        id="inject-unknown",
        says="an unknown resource is forwarded",
        batch="proxy",
        seen=lambda f: status(f, "unknown"),
        expected=404,
    ),
    Row(
        id="inject-yaml",
        says="YAML gets its owner",
        batch="proxy",
        seen=lambda f: (status(f, "yaml"), owners(f, "yaml") == owner(f)),
        expected=(201, True),
        mended=True,
    ),
    Row(
        id="inject-yaml-kept",
        says="and means what it meant",
        batch="proxy",
        seen=lambda f: f["yaml"]["data"],
        expected={"day": "2001-01-01"},
        mended=True,
    ),
    Row(
        id="inject-protobuf",
        says="protobuf, too",
        batch="proxy",
        seen=lambda f: (status(f, "protobuf"), owners(f, "protobuf") == owner(f)),
        expected=(201, True),
        mended=True,
    ),
    Row(
        id="inject-no-kind",
        says="a body without kind passes",
        batch="proxy",
        seen=lambda f: status(f, "nameless"),
        expected=201,
        mended=True,
    ),
    Row(
        id="inject-blacklisted",
        says="a blacklisted kind gets its owner",
        batch="proxy",
        seen=lambda f: owners(f, "secret") == owner(f),
    ),
    Row(
        id="inject-off",
        says="inject-owner-ref=false: no owner",
        batch="proxy",
        seen=lambda f: (f["not injected answer"], owners(f, "not injected")),
        expected=(201, []),
    ),
    Row(
        id="inject-off-watches",
        says="and no watches of dependents",
        batch="proxy",
        seen=lambda f: f["not injected runs"],
        expected=1,
    ),
    Row(
        id="inject-discovery",
        says="where discovery fails the request passes",
        reason="tests/contract/test_proxy_ownership.py",
    ),
    Row(
        id="inject-no-body-namespace",
        says="the body's namespace counts where the URL has none",
        reason="the API server has no such path: tests/unit/serve/test_ownership.py",
    ),
    Row(
        id="inject-duplicates",
        says="an owner that is there already is not doubled",
        reason="the API server drops doubles itself: tests/unit/serve/test_ownership.py",
    ),
)

ROWS = (*INJECTION,)
