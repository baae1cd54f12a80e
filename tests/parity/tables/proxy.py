"""The API proxy: its kubeconfig, and what passes through it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.parity.rows import Facts, proxy, untested, values


def kubeconfig(facts: Facts, part: str) -> Any:
    return yaml.safe_load(facts["full"]["kubeconfig"])[part]


def server(facts: Facts) -> Any:
    return urlsplit(kubeconfig(facts, "clusters")[0]["cluster"]["server"])


def answer(facts: Facts, name: str) -> Any:
    return facts["answers"][name]["body"]


def status(facts: Facts, name: str) -> Any:
    return facts["answers"][name]["status"]


ENDPOINT = (
    values(
        "proxy-cluster",
        "one cluster, proxy-server",
        lambda f: (len(kubeconfig(f, "clusters")), kubeconfig(f, "clusters")[0]["name"]),
        (1, "proxy-server"),
    ),
    values(
        "proxy-insecure",
        "with insecure-skip-tls-verify",
        lambda f: kubeconfig(f, "clusters")[0]["cluster"]["insecure-skip-tls-verify"],
    ),
    values(
        "proxy-server",
        "on localhost, over plain HTTP",
        lambda f: (server(f).scheme, server(f).hostname),
        ("http", "localhost"),
    ),
    values("proxy-port", "at --proxy-port", lambda f: server(f).port == f["proxy port"], mended=True),
    values(
        "proxy-context",
        "one context, <namespace>/proxy-server, the current one",
        lambda f: (
            (kubeconfig(f, "current-context"), kubeconfig(f, "contexts")[0]["name"])
            == (f"{f['namespace']}/proxy-server",) * 2
        ),
    ),
    values(
        "proxy-context-namespace",
        "without a namespace field",
        lambda f: kubeconfig(f, "contexts")[0]["context"],
        {"cluster": "proxy-server", "user": "admin/proxy-server"},
    ),
    values(
        "proxy-context-cluster",
        "/proxy-server for a cluster-scoped CR",
        lambda f: yaml.safe_load(f["realm"]["kubeconfig"])["current-context"],
        "/proxy-server",
    ),
    values(
        "proxy-user",
        "user admin/proxy-server, whose username is that of the URL",
        lambda f: (
            kubeconfig(f, "users")[0]["name"],
            kubeconfig(f, "users")[0]["user"]["username"] == server(f).username,
        ),
        ("admin/proxy-server", True),
    ),
    values(
        "proxy-user-text",
        "base64 of the owner's apiVersion, kind, name, uid and Namespace",
        lambda f: (
            f["full"]["token"]
            == {
                "apiVersion": f"{f['group']}/v1",
                "kind": "Full",
                "name": "full",
                "uid": f["full object"]["metadata"]["uid"],
                "Namespace": f["namespace"],
            }
        ),
    ),
    values(
        "proxy-user-cluster",
        "Namespace is empty for a cluster-scoped CR",
        lambda f: f["realm"]["token"]["Namespace"],
        "",
    ),
    untested(
        "proxy-password", "password unused", "a secret of the run, by docs/decisions/0004: clients cannot tell"
    ),
    untested(
        "proxy-no-auth",
        "without basic auth: no injection",
        "refused, by docs/decisions/0004; tests/contract/test_proxy_access.py",
    ),
    proxy(
        "proxy-errors",
        "the API server's answers pass unchanged",
        lambda f: (
            status(f, "absent"),
            answer(f, "absent")["reason"],
            status(f, "again"),
            status(f, "unknown"),
        ),
        (404, "NotFound", 409, 404),
    ),
    proxy("proxy-not-a-resource", "also to what is no resource", lambda f: "gitVersion" in answer(f, "version")),
    proxy("proxy-watch", "a watch streams", lambda f: answer(f, "watch")["type"], "ADDED"),
    untested(
        "proxy-upgrades",
        "exec, attach, port-forward pass",
        "tests/contract/test_proxy_upgrade.py, tests/integration/test_proxy.py",
    ),
    untested(
        "proxy-unreachable", "the API server is away: 500", "502 here; tests/contract/test_proxy_forwarding.py"
    ),
)

READS = (
    proxy("read-get", "GETs work", lambda f: answer(f, "one")["metadata"]["name"], "there"),
    proxy("read-absent", "404s are real", lambda f: status(f, "absent"), 404),
    proxy(
        "read-list",
        "limit and continue are honoured",
        lambda f: (len(answer(f, "list")["items"]), bool(answer(f, "list")["metadata"].get("continue"))),
        (1, True),
        mended=True,
    ),
    proxy("read-label-selector", "label selectors, too", lambda f: answer(f, "selected")["items"], []),
    proxy(
        "read-field-selector",
        "and field selectors",
        lambda f: [item["metadata"]["name"] for item in answer(f, "field")["items"]],
        ["there"],
    ),
    proxy("read-table", "a Table is a Table", lambda f: answer(f, "table")["kind"], "Table", mended=True),
    proxy(
        "read-watch-one",
        "a watch with a field selector streams",
        lambda f: (answer(f, "watch one")["type"], answer(f, "watch one")["object"]["metadata"]["name"]),
        ("ADDED", "there"),
        mended=True,
    ),
    untested(
        "read-cache",
        "X-Cache: HIT and the cached answer's format",
        "a client may rely on none of it; GETs pass through",
    ),
)

ROWS = (
    *ENDPOINT,
    *READS,
)
