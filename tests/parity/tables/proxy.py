"""The API proxy: its kubeconfig, and what passes through it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.parity.rows import Facts, Row


def kubeconfig(facts: Facts, part: str) -> Any:
    return yaml.safe_load(facts["full"]["kubeconfig"])[part]


def server(facts: Facts) -> Any:
    return urlsplit(kubeconfig(facts, "clusters")[0]["cluster"]["server"])


def answer(facts: Facts, name: str) -> Any:
    return facts["answers"][name]["body"]


def status(facts: Facts, name: str) -> Any:
    return facts["answers"][name]["status"]


ENDPOINT = (
    Row(
        id="proxy-cluster",
        says="one cluster, proxy-server",
        batch="values",
        seen=lambda f: (len(kubeconfig(f, "clusters")), kubeconfig(f, "clusters")[0]["name"]),
        expected=(1, "proxy-server"),
    ),
    Row(
        id="proxy-insecure",
        says="with insecure-skip-tls-verify",
        batch="values",
        seen=lambda f: kubeconfig(f, "clusters")[0]["cluster"]["insecure-skip-tls-verify"],
    ),
    Row(
        id="proxy-server",
        says="on localhost, over plain HTTP",
        batch="values",
        seen=lambda f: (server(f).scheme, server(f).hostname),
        expected=("http", "localhost"),
    ),
    Row(
        id="proxy-port",
        says="at --proxy-port",
        batch="values",
        seen=lambda f: server(f).port == f["proxy port"],
        mended=True,
    ),
    Row(
        id="proxy-context",
        says="one context, <namespace>/proxy-server, the current one",
        batch="values",
        seen=lambda f: (
            (kubeconfig(f, "current-context"), kubeconfig(f, "contexts")[0]["name"])
            == (f"{f['namespace']}/proxy-server",) * 2
        ),
    ),
    Row(
        id="proxy-context-namespace",
        says="without a namespace field",
        batch="values",
        seen=lambda f: kubeconfig(f, "contexts")[0]["context"],
        expected={"cluster": "proxy-server", "user": "admin/proxy-server"},
    ),
    Row(
        id="proxy-context-cluster",
        says="/proxy-server for a cluster-scoped CR",
        batch="values",
        seen=lambda f: yaml.safe_load(f["realm"]["kubeconfig"])["current-context"],
        expected="/proxy-server",
    ),
    Row(
        id="proxy-user",
        says="user admin/proxy-server, whose username is that of the URL",
        batch="values",
        seen=lambda f: (
            kubeconfig(f, "users")[0]["name"],
            kubeconfig(f, "users")[0]["user"]["username"] == server(f).username,
        ),
        expected=("admin/proxy-server", True),
    ),
    Row(
        id="proxy-user-text",
        says="base64 of the owner's apiVersion, kind, name, uid and Namespace",
        batch="values",
        seen=lambda f: (
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
    Row(
        id="proxy-user-cluster",
        says="Namespace is empty for a cluster-scoped CR",
        batch="values",
        seen=lambda f: f["realm"]["token"]["Namespace"],
        expected="",
    ),
    Row(
        id="proxy-password",
        says="password unused",
        reason="a secret of the run, by docs/decisions/0004: clients cannot tell",
    ),
    Row(
        id="proxy-no-auth",
        says="without basic auth: no injection",
        reason="refused, by docs/decisions/0004; tests/contract/test_proxy_access.py",
    ),
    Row(
        id="proxy-errors",
        says="the API server's answers pass unchanged",
        batch="proxy",
        seen=lambda f: (
            status(f, "absent"),
            answer(f, "absent")["reason"],
            status(f, "again"),
            status(f, "unknown"),
        ),
        expected=(404, "NotFound", 409, 404),
    ),
    Row(
        id="proxy-not-a-resource",
        says="also to what is no resource",
        batch="proxy",
        seen=lambda f: "gitVersion" in answer(f, "version"),
    ),
    Row(
        id="proxy-watch",
        says="a watch streams",
        batch="proxy",
        seen=lambda f: answer(f, "watch")["type"],
        expected="ADDED",
    ),
    Row(
        id="proxy-upgrades",
        says="exec, attach, port-forward pass",
        reason="tests/contract/test_proxy_upgrade.py, tests/integration/test_proxy.py",
    ),
    Row(
        id="proxy-unreachable",
        says="the API server is away: 500",
        reason="502 here; tests/contract/test_proxy_forwarding.py",
    ),
)

READS = (
    Row(
        id="read-get",
        says="GETs work",
        batch="proxy",
        seen=lambda f: answer(f, "one")["metadata"]["name"],
        expected="there",
    ),
    Row(id="read-absent", says="404s are real", batch="proxy", seen=lambda f: status(f, "absent"), expected=404),
    Row(
        id="read-list",
        says="limit and continue are honoured",
        batch="proxy",
        seen=lambda f: (len(answer(f, "list")["items"]), bool(answer(f, "list")["metadata"].get("continue"))),
        expected=(1, True),
        mended=True,
    ),
    Row(
        id="read-label-selector",
        says="label selectors, too",
        batch="proxy",
        seen=lambda f: answer(f, "selected")["items"],
        expected=[],
    ),
    Row(
        id="read-field-selector",
        says="and field selectors",
        batch="proxy",
        seen=lambda f: [item["metadata"]["name"] for item in answer(f, "field")["items"]],
        expected=["there"],
    ),
    Row(
        id="read-table",
        says="a Table is a Table",
        batch="proxy",
        seen=lambda f: answer(f, "table")["kind"],
        expected="Table",
        mended=True,
    ),
    Row(
        id="read-watch-one",
        says="a watch with a field selector streams",
        batch="proxy",
        seen=lambda f: (answer(f, "watch one")["type"], answer(f, "watch one")["object"]["metadata"]["name"]),
        expected=("ADDED", "there"),
        mended=True,
    ),
    Row(
        id="read-cache",
        says="X-Cache: HIT and the cached answer's format",
        reason="a client may rely on none of it; GETs pass through",
    ),
)

ROWS = (
    *ENDPOINT,
    *READS,
)
