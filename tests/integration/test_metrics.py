"""/metrics of an operator process on a real cluster: who leads, and who may read that."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from functools import partial
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from bench.observer import Observer, wait_for
from tests.fixtures import operators
from tests.fixtures.operators import PATIENCE, Operate, Project, Things

pytestmark = pytest.mark.cluster


@pytest.fixture
def reader(observer: Observer) -> Iterator[str]:
    """The token of an account that may get /metrics."""
    name = f"reader-{observer.namespace}"
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name}}
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    observer.create({**rbac, "kind": "ClusterRole", "rules": [rule]})
    binding = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": observer.namespace}],
    }
    observer.create({**rbac, "kind": "ClusterRoleBinding", **binding})
    yield account(observer, "reader")
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        observer.delete("rbac.authorization.k8s.io/v1", kind, name)


def account(observer: Observer, name: str) -> str:
    observer.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    return observer.token(name)


def ask(port: int, token: str = "") -> tuple[int, str]:
    """Status and body of /metrics over TLS."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = Request(
        f"https://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {token}"} if token else {}
    )
    try:
        with urlopen(request, context=context, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, ""


def test_a_leader_says_so_to_those_who_may_read_it(
    project: Project, operate: Operate, things: Things, observer: Observer, reader: str
) -> None:
    project.role("ok", "- ansible.builtin.meta: noop\n")
    project.watch("ok")
    operator = operate(
        "--executor=cold",
        "--metrics-bind-address=127.0.0.1:0",
        "--metrics-secure",
        "--metrics-require-rbac",
        "--leader-elect",
        "--leader-election-id=the-operator",
        f"--leader-election-namespace={observer.namespace}",
    )
    port = operators.port(operator, "metrics")
    things.create("first")
    things.wait("first", "Successful")
    assert ask(port)[0] == 401
    assert ask(port, "of nobody")[0] == 401
    assert ask(port, account(observer, "guest"))[0] == 403
    controller = 'controller="thing-v1-controller"'
    for line in (
        'leader_election_master_status{name="the-operator"} 1.0',
        f'controller_runtime_reconcile_total{{{controller},result="success"}} 1.0',
        f"controller_runtime_max_concurrent_reconciles{{{controller}}}",
    ):
        wait_for(line, partial(shows, port, reader, line), seconds=PATIENCE)


def shows(port: int, token: str, line: str) -> bool:
    status, text = ask(port, token)
    return status == 200 and line in text
