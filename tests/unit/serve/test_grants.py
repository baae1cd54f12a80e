"""The kubeconfig of a run has the shape that the Go operator's has, and its calls are noted as RBAC sees them."""

from __future__ import annotations

import base64
import json
from urllib.parse import urlsplit

import pytest
import yaml

from runner.objects import GroupVersionKind, Owner
from runner.serve.dependents import OwnWrites
from runner.serve.forward import Target, parse_target
from runner.serve.grants import MOST_CALLS, Grant, Grants, Purpose, basic, call_of, render

OWNER = Owner(GroupVersionKind("app.example.com", "v1", "Database"), "shop", "orders", "uid-1")
WHO = '{"apiVersion":"app.example.com/v1","kind":"Database","name":"orders","uid":"uid-1","Namespace":"shop"}'


def test_a_runs_kubeconfig_is_the_go_operators_field_by_field() -> None:
    user = base64.b64encode(WHO.encode()).decode()
    assert yaml.safe_load(render(OWNER, 8888, url_secret="of-owner", run_secret="of-run")) == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "proxy-server",
                "cluster": {
                    "insecure-skip-tls-verify": True,
                    "server": f"http://{user}:of-owner@localhost:8888",
                },
            }
        ],
        "contexts": [
            {
                "name": "shop/proxy-server",
                "context": {"cluster": "proxy-server", "user": "admin/proxy-server"},
            }
        ],
        "current-context": "shop/proxy-server",
        "preferences": {},
        "users": [{"name": "admin/proxy-server", "user": {"username": user, "password": "of-run"}}],
    }


def test_a_cluster_scoped_owner_has_an_empty_namespace() -> None:
    owner = Owner(OWNER.gvk, "", "orders", "uid-1")
    text = yaml.safe_load(render(owner, 1, url_secret="o", run_secret="r"))
    assert text["current-context"] == "/proxy-server"
    assert json.loads(base64.b64decode(text["users"][0]["user"]["username"]))["Namespace"] == ""


@pytest.mark.parametrize("secret", ["-1e5", "12345678", "null", "0x1F"])
def test_a_password_stays_text_whatever_it_looks_like(secret: str) -> None:
    text = yaml.safe_load(render(OWNER, 1, url_secret="o", run_secret=secret))
    assert text["users"][0]["user"]["password"] == secret


@pytest.mark.parametrize(
    ("method", "path", "call"),
    [
        ("GET", "/api/v1/namespaces/a/pods/b", ("get", "", "pods", "a", "b")),
        ("GET", "/api/v1/namespaces/a/pods", ("list", "", "pods", "a", "")),
        ("GET", "/api/v1/pods?watch=true", ("watch", "", "pods", "", "")),
        ("POST", "/apis/apps/v1/namespaces/a/deployments", ("create", "apps", "deployments", "a", "")),
        ("PATCH", "/apis/apps/v1/namespaces/a/deployments/b", ("patch", "apps", "deployments", "a", "b")),
        (
            "PUT",
            "/apis/apps/v1/namespaces/a/deployments/b/scale",
            ("update", "apps", "deployments/scale", "a", "b"),
        ),
        ("DELETE", "/api/v1/namespaces/a", ("delete", "", "namespaces", "", "a")),
        ("DELETE", "/api/v1/namespaces/a/pods", ("deletecollection", "", "pods", "a", "")),
    ],
)
def test_a_call_is_noted_as_rbac_sees_it(method: str, path: str, call: tuple[str, ...]) -> None:
    target = parse_target(path)
    assert target is not None
    assert call_of(method, target) == call


def test_no_run_can_fill_the_memory_with_its_calls() -> None:
    grant = Grants(lambda: 1, lambda _: False, OwnWrites()).issue(OWNER)
    for number in range(MOST_CALLS + 1):
        grant.called("GET", Target("", "v1", "pods", "a", f"b{number}"))
    assert len(grant.calls) == MOST_CALLS


def test_a_name_that_can_be_none_is_not_noted() -> None:
    grant = Grants(lambda: 1, lambda _: False, OwnWrites()).issue(OWNER)
    grant.called("GET", Target("", "v1", "pods", "a", "b" * 1000))
    assert grant.calls == set()


def url(grant: Grant) -> str:
    return str(yaml.safe_load(grant.kubeconfig)["clusters"][0]["cluster"]["server"])


def header(grant: Grant) -> str:
    """As Go clients send it: what stands in the URL."""
    user, _, secret = urlsplit(url(grant)).netloc.partition("@")[0].partition(":")
    return f"Basic {basic(user, secret)}"


def test_grants_of_one_owner_that_live_at_the_same_time_share_no_secret() -> None:
    grants = Grants(lambda: 1, lambda _: False, OwnWrites())
    purposes = [Purpose.RUN, Purpose.REVIEW, Purpose.REVIEW, Purpose.RUN]
    living = [grants.issue(OWNER, purpose).__enter__() for purpose in purposes]
    for grant in living:
        assert [grants.find(header(grant)) for _ in range(50)] == [grant] * 50


def test_one_run_after_another_has_the_same_url_and_another_password() -> None:
    grants = Grants(lambda: 1, lambda _: False, OwnWrites())
    with grants.issue(OWNER) as first:
        pass
    with grants.issue(OWNER) as second:
        assert url(first) == url(second)
    assert first.kubeconfig != second.kubeconfig


def test_a_review_never_has_the_url_of_a_run() -> None:
    grants = Grants(lambda: 1, lambda _: False, OwnWrites())
    with grants.issue(OWNER, Purpose.REVIEW) as review:
        pass
    with grants.issue(OWNER) as run:
        assert grants.find(header(review)) is None
        assert grants.find(header(run)) is run
