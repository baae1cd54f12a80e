"""Which objects the proxy gives their owner."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, proxy, untested
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
    proxy(
        "inject-same-namespace",
        "POST in the owner's namespace: ownerReference",
        lambda f: owners(f, "json") == owner(f),
    ),
    proxy("inject-reference-only", "and no annotations", lambda f: notes(f, "json"), {}),
    proxy(
        "inject-other-namespace",
        "POST elsewhere: annotations",
        lambda f: notes(f, "elsewhere") == {**primary(f), "mine": "kept"},
    ),
    proxy("inject-other-namespace-only", "and no ownerReference", lambda f: owners(f, "elsewhere"), []),
    proxy(
        "inject-overwritten",
        "the annotations overwrite what was there",
        lambda f: notes(f, "elsewhere")["operator-sdk/primary-resource"] == f"{f['namespace']}/asker",
    ),
    proxy(
        "inject-cluster-dependent",
        "POST of a cluster-scoped object: annotations",
        lambda f: (notes(f, "cluster role") == primary(f), owners(f, "cluster role")),
        (True, []),
    ),
    proxy(
        "inject-cluster-owner", "a cluster-scoped owner: ownerReference", lambda f: owners(f, "realm") == realm(f)
    ),
    proxy(
        "inject-cluster-owner-cluster",
        "also on a cluster-scoped object",
        lambda f: owners(f, "cluster realm") == realm(f),
    ),
    proxy(
        "inject-appended",
        "appended to those that are there",
        lambda f: ([item["name"] for item in owners(f, "appended")], owners(f, "appended")[1:] == owner(f)),
        (["there", "asker"], True),
    ),
    proxy("inject-put", "PUT is never changed", lambda f: (status(f, "put"), owners(f, "there")), (200, [])),
    proxy("inject-patch", "nor PATCH", lambda f: (status(f, "patch"), owners(f, "there")), (200, [])),
    proxy(
        "inject-apply",
        "nor server-side apply",
        lambda f: (status(f, "apply"), owners(f, "applied"), notes(f, "applied")),
        (201, [], {}),
    ),
    proxy("inject-delete", "nor DELETE", lambda f: status(f, "delete"), 200),
    proxy(
        "inject-subresource",
        "nor POST to a subresource",
        lambda f: (status(f, "subresource"), "ownerReferences" in answer(f, "subresource")["metadata"]),
        (201, False),
    ),
    proxy(
        "inject-virtual",
        "nor what cannot be read back",
        lambda f: (status(f, "review"), answer(f, "review")["status"]["allowed"]),
        (201, True),
    ),
    proxy("inject-unknown", "an unknown resource is forwarded", lambda f: status(f, "unknown"), 404),
    proxy(
        "inject-yaml",
        "YAML gets its owner",
        lambda f: (status(f, "yaml"), owners(f, "yaml") == owner(f)),
        (201, True),
        mended=True,
    ),
    proxy(
        "inject-yaml-kept",
        "and means what it meant",
        lambda f: f["yaml"]["data"],
        {"day": "2001-01-01"},
        mended=True,
    ),
    proxy(
        "inject-protobuf",
        "protobuf, too",
        lambda f: (status(f, "protobuf"), owners(f, "protobuf") == owner(f)),
        (201, True),
        mended=True,
    ),
    proxy("inject-no-kind", "a body without kind passes", lambda f: status(f, "nameless"), 201, mended=True),
    proxy("inject-blacklisted", "a blacklisted kind gets its owner", lambda f: owners(f, "secret") == owner(f)),
    proxy(
        "inject-off",
        "inject-owner-ref=false: no owner",
        lambda f: (f["not injected answer"], owners(f, "not injected")),
        (201, []),
    ),
    proxy("inject-off-watches", "and no watches of dependents", lambda f: f["not injected runs"], 1),
    untested(
        "inject-discovery", "where discovery fails the request passes", "tests/contract/test_proxy_ownership.py"
    ),
    untested(
        "inject-no-body-namespace",
        "the body's namespace counts where the URL has none",
        "the API server has no such path: tests/unit/serve/test_ownership.py",
    ),
    untested(
        "inject-duplicates",
        "an owner that is there already is not doubled",
        "the API server drops doubles itself: tests/unit/serve/test_ownership.py",
    ),
)

ROWS = (*INJECTION,)
