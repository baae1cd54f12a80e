from __future__ import annotations

import pytest

from runner.serve.checkmode import changes, opens_stream, reads
from runner.serve.forward import ambiguous, parse_target

PODS = "/api/v1/namespaces/shop/pods"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", PODS),
        ("HEAD", PODS),
        ("GET", f"{PODS}/web/log"),
        ("GET", "/version"),
        ("POST", f"{PODS}?dryRun=All"),
        ("PUT", f"{PODS}/web?fieldManager=a&dryRun=All"),
        ("PATCH", f"{PODS}/web?dryRun=All"),
        ("DELETE", f"{PODS}/web?dryRun=All"),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
    ],
)
def test_what_changes_nothing_passes(method: str, path: str) -> None:
    assert not changes(method, parse_target(path), has_body=False)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", PODS),
        ("PUT", f"{PODS}/web"),
        ("PATCH", f"{PODS}/web/status"),
        ("DELETE", f"{PODS}/web"),
        ("DELETE", PODS),
        ("POST", "/apis/authorization.k8s.io"),
        ("GET", f"{PODS}/web/exec?command=true"),
        ("POST", f"{PODS}/web/exec?command=true&dryRun=All"),
        ("POST", f"{PODS}/web/attach?dryRun=All"),
        ("GET", f"{PODS}/web/portforward"),
        ("POST", f"{PODS}/web/proxy/admin?dryRun=All"),
        ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
    ],
)
def test_what_may_change_something_does_not(method: str, path: str) -> None:
    assert changes(method, parse_target(path), has_body=False)


def test_deletion_whose_body_holds_its_options_does_not_pass() -> None:
    assert changes("DELETE", parse_target(f"{PODS}/web?dryRun=All"), has_body=True)


PROXIES = [
    "/api/v1/nodes/one/proxy/exec/shop/web/app?command=id",
    "/api/v1/nodes/one/proxy/",
    "/api/v1/nodes/one/proxy?path=exec",
    "/api/v1/nodes/one/prox%79/exec/shop/web/app",
    "/api/v1/nodes/one%2fproxy%2Fexec",
    "/api/v1/nodes/one:10250/proxy/run/shop/web/app",
    f"{PODS}/web/proxy/admin?dryRun=All",
    "/api/v1/namespaces/shop/services/https:web:443/proxy/delete",
    "/api/v1/proxy/nodes/one/exec",
]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST"])
@pytest.mark.parametrize("path", PROXIES)
def test_requests_that_the_api_server_passes_on_are_refused_whatever_the_method(method: str, path: str) -> None:
    target = parse_target(path)

    assert changes(method, target, has_body=False)
    assert not reads(method, target)


@pytest.mark.parametrize("name", ["ci", "c%69"])
@pytest.mark.parametrize("subresource", ["token", "tok%65n", "token/"])
def test_dry_run_of_a_token_request_is_refused_because_it_yields_a_token(name: str, subresource: str) -> None:
    target = parse_target(f"/api/v1/namespaces/shop/serviceaccounts/{name}/{subresource}?dryRun=All")

    assert changes("POST", target, has_body=True)
    assert not reads("POST", target)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nodes/one//proxy/exec",
        "//api/v1/nodes/one/proxy",
        "/api/v1/pods/../nodes/one/proxy",
        "/api/v1/./nodes",
        "/api/v1/pods/%2e%2e/nodes/one/proxy",
        "/api/v1/nodes/one%2fproxy",
        "/api/v1/nodes/one%5cproxy",
        "/api/v1/nodes/one%252fproxy",
        "/api/v1/nodes/one/status//",
    ],
)
def test_path_that_two_servers_may_read_differently_is_ambiguous(path: str) -> None:
    assert ambiguous(path)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api",
        "/apis/",
        "/api/v1/",
        f"{PODS}?fieldSelector=a%3D..%2F/..//",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
        "/openapi/v3/apis/apps/v1?hash=..",
    ],
)
def test_path_of_an_ordinary_client_is_not_ambiguous(path: str) -> None:
    assert not ambiguous(path)


def test_websocket_and_spdy_open_a_stream_and_an_offer_of_http_2_does_not() -> None:
    assert opens_stream({"Connection": "Upgrade", "Upgrade": "websocket"})
    assert opens_stream({"Connection": "Upgrade", "Upgrade": "SPDY/3.1"})
    assert not opens_stream({"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c"})
    assert not opens_stream({"Accept": "application/json"})
