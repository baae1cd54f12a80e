from __future__ import annotations

import pytest

from runner.serve.checkmode import changes
from runner.serve.forward import parse_target

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
