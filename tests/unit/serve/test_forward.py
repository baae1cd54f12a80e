"""What a request is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.serve.forward import Target, forwardable, parse_target


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/pods", Target("", "v1", "pods")),
        ("/api/v1/namespaces/a/pods/p", Target("", "v1", "pods", "a", "p")),
        ("/api/v1/namespaces/a/pods/p/log?follow=1", Target("", "v1", "pods", "a", "p", "log")),
        ("/api/v1/namespaces/a/services/s/proxy/x/y", Target("", "v1", "services", "a", "s", "proxy")),
        ("/api/v1/namespaces", Target("", "v1", "namespaces")),
        ("/api/v1/namespaces/a", Target("", "v1", "namespaces", "", "a")),
        ("/api/v1/namespaces/a/finalize", Target("", "v1", "namespaces", "", "a", "finalize")),
        ("/apis/apps/v1/namespaces/a/deployments/d/scale", Target("apps", "v1", "deployments", "a", "d", "scale")),
        ("/apis/g.io/v1/things/x%2Fy", Target("g.io", "v1", "things", "", "x", "y")),
        ("/api%2Fv1/namespaces%2Fa%2fpods", Target("", "v1", "pods", "a")),
        ("/%61pi/v1/pod%73", Target("", "v1", "pods")),
        ("/api/v1/namespaces/a/../b/pods", Target("", "v1", "..", "a", "b", "pods")),
        ("/api/v1/pods/", Target("", "v1", "pods")),
        ("/api/v1/pods?watch=true", Target("", "v1", "pods", watch=True)),
        ("/api/v1/pods?watch=1&dryRun=All", Target("", "v1", "pods", watch=True, dry_run=True)),
        ("/api/v1/pods?watch=false", Target("", "v1", "pods")),
        ("/api/v1/pods?watch=0&watch=1", Target("", "v1", "pods")),
        ("/api/v1/pods?watch=", Target("", "v1", "pods", watch=True)),
        ("/api/v1/pods?watc%68=1", Target("", "v1", "pods", watch=True)),
        ("/api/v1/pods?watch=%zz&dryRun=%zz", Target("", "v1", "pods")),
        ("/api/v1/pods?dryRun=All;x=1", Target("", "v1", "pods")),
        ("/api/v1/pods?dryrun=All", Target("", "v1", "pods")),
        ("/api/v1/watch/namespaces/a/pods/p", Target("", "v1", "pods", "a", "p", watch=True)),
    ],
)
def test_a_resource_path_is_read_as_the_api_server_reads_it(path: str, target: Target) -> None:
    assert parse_target(path) == target


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/version",
        "/api",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
        "/healthz/ping",
        "/api/v1/watch",
        "/api/v1//pods",
    ],
)
def test_paths_that_are_no_resources_have_no_target(path: str) -> None:
    assert parse_target(path) is None


@pytest.mark.parametrize("path", ["/api/v1/pods", "/version?verbose", "/x/proxy/a%2Fb//../%zz?q=%25&q;"])
def test_a_path_and_query_are_forwarded_whatever_they_name(path: str) -> None:
    assert forwardable(path)


@pytest.mark.parametrize(
    "path", ["", "*", "http://elsewhere/api/v1/pods", ".elsewhere/", "@elsewhere/", "/api/v1/pods#x", "/a b", "/ü"]
)
def test_a_path_that_would_arrive_as_another_is_not_forwarded(path: str) -> None:
    assert not forwardable(path)


@given(st.text() | st.text(alphabet="/%2FfaA.?;&=#watchdryRun~").map("/api/v1/{}".format))
def test_any_target_is_read_or_has_none(path: str) -> None:
    target = parse_target(path)
    assert target is None or target.plural
