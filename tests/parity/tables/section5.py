"""5. The API proxy."""

# fmt: off

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.parity.rows import Facts, Row


def kubeconfig(facts: Facts, part: str) -> Any:
    return yaml.safe_load(facts["full"]["kubeconfig"])[part]


def server(facts: Facts) -> Any:
    return urlsplit(kubeconfig(facts, "clusters")[0]["cluster"]["server"])


def owners(facts: Facts, name: str) -> Any:
    return facts[name]["metadata"].get("ownerReferences", [])


def notes(facts: Facts, name: str) -> Any:
    return facts[name]["metadata"].get("annotations", {})


def owner(facts: Facts) -> list[dict[str, str]]:
    return [{"apiVersion": f"{facts['group']}/v1", "kind": "Owner", "name": "asker", "uid": facts["uids"]["owner"]}]


def realm(facts: Facts) -> list[dict[str, str]]:
    return [{"apiVersion": f"{facts['group']}/v1", "kind": "Realm", "name": facts["realm name"], "uid": facts["uids"]["realm"]}]


def primary(facts: Facts) -> dict[str, str]:
    return {"operator-sdk/primary-resource": f"{facts['namespace']}/asker", "operator-sdk/primary-resource-type": f"Owner.{facts['group']}"}


def answer(facts: Facts, name: str) -> Any:
    return facts["answers"][name]["body"]


def status(facts: Facts, name: str) -> Any:
    return facts["answers"][name]["status"]


ENDPOINT = (
    Row("5.1-cluster", "one cluster, proxy-server", "values", lambda f: (len(kubeconfig(f, "clusters")), kubeconfig(f, "clusters")[0]["name"]), (1, "proxy-server")),
    Row("5.1-insecure", "with insecure-skip-tls-verify", "values", lambda f: kubeconfig(f, "clusters")[0]["cluster"]["insecure-skip-tls-verify"]),
    Row("5.1-server", "on localhost, over plain HTTP", "values", lambda f: (server(f).scheme, server(f).hostname), ("http", "localhost")),
    Row("5.1-port", "at --proxy-port", "values", lambda f: server(f).port == f["proxy port"], mended=True),
    Row("5.1-context", "one context, <namespace>/proxy-server, the current one", "values", lambda f: (kubeconfig(f, "current-context"), kubeconfig(f, "contexts")[0]["name"]) == (f"{f['namespace']}/proxy-server",) * 2),
    Row("5.1-context-namespace", "without a namespace field", "values", lambda f: kubeconfig(f, "contexts")[0]["context"], {"cluster": "proxy-server", "user": "admin/proxy-server"}),
    Row("5.1-context-cluster", "/proxy-server for a cluster-scoped CR", "values", lambda f: yaml.safe_load(f["realm"]["kubeconfig"])["current-context"], "/proxy-server"),
    Row("5.1-user", "user admin/proxy-server, whose username is that of the URL", "values", lambda f: (kubeconfig(f, "users")[0]["name"], kubeconfig(f, "users")[0]["user"]["username"] == server(f).username), ("admin/proxy-server", True)),
    Row("5.1-user-text", "base64 of the owner's apiVersion, kind, name, uid and Namespace", "values", lambda f: f["full"]["token"] == {"apiVersion": f"{f['group']}/v1", "kind": "Full", "name": "full", "uid": f["full object"]["metadata"]["uid"], "Namespace": f["namespace"]}),
    Row("5.1-user-cluster", "Namespace is empty for a cluster-scoped CR", "values", lambda f: f["realm"]["token"]["Namespace"], ""),
    Row("5.1-password", "password unused", reason="a secret of the run, by docs/decisions/0004: clients cannot tell"),
    Row("5.1-no-auth", "without basic auth: no injection", reason="refused, by docs/decisions/0004; tests/contract/test_proxy_access.py"),
    Row("5.1-errors", "the API server's answers pass unchanged", "proxy", lambda f: (status(f, "absent"), answer(f, "absent")["reason"], status(f, "again"), status(f, "unknown")), (404, "NotFound", 409, 404)),
    Row("5.1-not-a-resource", "also to what is no resource", "proxy", lambda f: "gitVersion" in answer(f, "version")),
    Row("5.1-watch", "a watch streams", "proxy", lambda f: answer(f, "watch")["type"], "ADDED"),
    Row("5.1-upgrades", "exec, attach, port-forward pass", reason="tests/contract/test_proxy_upgrade.py, tests/integration/test_proxy.py"),
    Row("5.1-unreachable", "the API server is away: 500", reason="502 here; tests/contract/test_proxy_forwarding.py"),
)

INJECTION = (
    Row("5.2-same-namespace", "POST in the owner's namespace: ownerReference", "proxy", lambda f: owners(f, "json") == owner(f)),
    Row("5.2-reference-only", "and no annotations", "proxy", lambda f: notes(f, "json"), {}),
    Row("5.2-other-namespace", "POST elsewhere: annotations", "proxy", lambda f: notes(f, "elsewhere") == {**primary(f), "mine": "kept"}),
    Row("5.2-other-namespace-only", "and no ownerReference", "proxy", lambda f: owners(f, "elsewhere"), []),
    Row("5.2-overwritten", "the annotations overwrite what was there", "proxy", lambda f: notes(f, "elsewhere")["operator-sdk/primary-resource"] == f"{f['namespace']}/asker"),
    Row("5.2-cluster-dependent", "POST of a cluster-scoped object: annotations", "proxy", lambda f: (notes(f, "cluster role") == primary(f), owners(f, "cluster role")), (True, [])),
    Row("5.2-cluster-owner", "a cluster-scoped owner: ownerReference", "proxy", lambda f: owners(f, "realm") == realm(f)),
    Row("5.2-cluster-owner-cluster", "also on a cluster-scoped object", "proxy", lambda f: owners(f, "cluster realm") == realm(f)),
    Row("5.2-appended", "appended to those that are there", "proxy", lambda f: ([item["name"] for item in owners(f, "appended")], owners(f, "appended")[1:] == owner(f)), (["there", "asker"], True)),
    Row("5.2-put", "PUT is never changed", "proxy", lambda f: (status(f, "put"), owners(f, "there")), (200, [])),
    Row("5.2-patch", "nor PATCH", "proxy", lambda f: (status(f, "patch"), owners(f, "there")), (200, [])),
    Row("5.2-apply", "nor server-side apply", "proxy", lambda f: (status(f, "apply"), owners(f, "applied"), notes(f, "applied")), (201, [], {})),
    Row("5.2-delete", "nor DELETE", "proxy", lambda f: status(f, "delete"), 200),
    Row("5.2-subresource", "nor POST to a subresource", "proxy", lambda f: (status(f, "subresource"), "ownerReferences" in answer(f, "subresource")["metadata"]), (201, False)),
    Row("5.2-virtual", "nor what cannot be read back", "proxy", lambda f: (status(f, "review"), answer(f, "review")["status"]["allowed"]), (201, True)),
    Row("5.2-unknown", "an unknown resource is forwarded", "proxy", lambda f: status(f, "unknown"), 404),
    Row("5.2-yaml", "YAML gets its owner", "proxy", lambda f: (status(f, "yaml"), owners(f, "yaml") == owner(f)), (201, True), mended=True),
    Row("5.2-yaml-kept", "and means what it meant", "proxy", lambda f: f["yaml"]["data"], {"day": "2001-01-01"}, mended=True),
    Row("5.2-protobuf", "protobuf, too", "proxy", lambda f: (status(f, "protobuf"), owners(f, "protobuf") == owner(f)), (201, True), mended=True),
    Row("5.2-no-kind", "a body without kind passes", "proxy", lambda f: status(f, "nameless"), 201, mended=True),
    Row("5.2-blacklisted", "a blacklisted kind gets its owner", "proxy", lambda f: owners(f, "secret") == owner(f)),
    Row("5.2-off", "inject-owner-ref=false: no owner", "proxy", lambda f: (f["not injected answer"], owners(f, "not injected")), (201, [])),
    Row("5.2-off-watches", "and no watches of dependents", "proxy", lambda f: f["not injected runs"], 1),
    Row("5.2-discovery", "where discovery fails the request passes", reason="tests/contract/test_proxy_ownership.py"),
    Row("5.2-no-body-namespace", "the body's namespace counts where the URL has none", reason="the API server has no such path: tests/unit/serve/test_ownership.py"),
    Row("5.2-duplicates", "an owner that is there already is not doubled", reason="the API server drops doubles itself: tests/unit/serve/test_ownership.py"),
)

WATCHES = (
    Row("5.3-reference", "dependents by ownerReference are watched", "proxy", lambda f: f["updated"]),
    Row("5.3-annotation", "dependents by annotation are watched", "proxy", lambda f: f["away-updated"]),
    Row("5.3-off", "not with watchDependentResources false", "proxy", lambda f: f["alone"], 0),
    Row("5.3-blacklist", "nor blacklisted kinds", "proxy", lambda f: f["blacklisted"], 0),
    Row("5.3-cluster-scoped", "nor cluster-scoped ones of a namespaced owner", "proxy", lambda f: f["narrow"], 0),
    Row("5.3-cluster-scoped-wanted", "but with watchClusterScopedResources", "proxy", lambda f: f["wide"]),
    Row("5.3-unknown-owner", "an owner kind that is not watched is no reason to refuse", reason="no run has one: tests/contract/test_proxy_ownership.py"),
    Row("5.3-namespaces", "only in the watched namespaces", reason="tests/unit/control/test_watching.py"),
    Row("5.3-retried", "a watch that could not start is tried again", reason="tests/contract/test_reflector.py"),
    Row("5.3-recovery", "a named GET after a restart watches them again", "proxy", lambda f: f["recovered"]),
)

READS = (
    Row("5.4-get", "GETs work", "proxy", lambda f: answer(f, "one")["metadata"]["name"], "there"),
    Row("5.4-absent", "404s are real", "proxy", lambda f: status(f, "absent"), 404),
    Row("5.4-list", "limit and continue are honoured", "proxy", lambda f: (len(answer(f, "list")["items"]), bool(answer(f, "list")["metadata"].get("continue"))), (1, True), mended=True),
    Row("5.4-label-selector", "label selectors, too", "proxy", lambda f: answer(f, "selected")["items"], []),
    Row("5.4-field-selector", "and field selectors", "proxy", lambda f: [item["metadata"]["name"] for item in answer(f, "field")["items"]], ["there"]),
    Row("5.4-table", "a Table is a Table", "proxy", lambda f: answer(f, "table")["kind"], "Table", mended=True),
    Row("5.4-watch-one", "a watch with a field selector streams", "proxy", lambda f: (answer(f, "watch one")["type"], answer(f, "watch one")["object"]["metadata"]["name"]), ("ADDED", "there"), mended=True),
    Row("5.4-cache", "X-Cache: HIT and the cached answer's format", reason="a client may rely on none of it; GETs pass through (9.2)"),
)

DEPENDENTS = (
    Row("5.5-created", "a dependent that is created does not run its owner", "proxy", lambda f: f["created"], 0),
    Row("5.5-deleted", "one that is deleted does", "proxy", lambda f: f["deleted"]),
    Row("5.5-put-back", "so that it is put back", "proxy", lambda f: f["put back"]),
    Row("5.5-updated", "one that changes does", "proxy", lambda f: f["child"]),
    Row("5.5-labels", "also by its labels alone", "proxy", lambda f: f["labels"]),
    Row("5.5-status", "but not by its status alone", "proxy", lambda f: f["status"], 0),
    Row("5.5-version", "the version in an ownerReference is ignored", "proxy", lambda f: f["version"]),
    Row("5.5-annotated", "a dependent by annotation that is deleted runs its owner", "proxy", lambda f: f["away-deleted"]),
    Row("5.5-own-writes", "what a run writes itself does not run it again", "proxy", lambda f: f["own writes"], 1, mended=True),
)

SECTION_5 = (*ENDPOINT, *INJECTION, *WATCHES, *READS, *DEPENDENTS)
