"""What a request is about."""

from __future__ import annotations

import pytest

from runner.serve.target import Target, parse_target


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
        ("/apis/g.io/v1/things/x%2Fy", Target("g.io", "v1", "things", "", "x/y")),
        ("/api/v1//pods/", Target("", "v1", "pods")),
        ("/api/v1/pods?watch=true", Target("", "v1", "pods", watch=True)),
        ("/api/v1/pods?watch=1&dryRun=All", Target("", "v1", "pods", watch=True, dry_run=True)),
        ("/api/v1/pods?watch=false", Target("", "v1", "pods")),
        ("/api/v1/watch/namespaces/a/pods/p", Target("", "v1", "pods", "a", "p", watch=True)),
    ],
)
def test_a_resource_path_is_read_as_the_api_server_reads_it(path: str, target: Target) -> None:
    assert parse_target(path) == target


@pytest.mark.parametrize(
    "path", ["/", "/version", "/api", "/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz/ping", "/api/v1/watch"]
)
def test_other_paths_have_no_target(path: str) -> None:
    assert parse_target(path) is None
