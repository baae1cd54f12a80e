"""Health, metrics, and the API for metrics of roles."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, life, status, untested


def samples(facts: Facts, metric: str, /, **labels: str) -> list[Any]:
    """(type, labels, value) of the samples of that name that have these labels."""
    return [
        (kind, found, value)
        for kind, sample, found, value in facts["metrics"]
        if sample == metric and labels.items() <= found.items()
    ]


def value(facts: Facts, metric: str, /, **labels: str) -> Any:
    found = samples(facts, metric, **labels)
    return found[0][2] if found else None


def gvk(facts: Facts, kind: str) -> str:
    return f"{facts['group']}/v1, Kind={kind}"


CREATED = "resource_created_at_seconds"

HEALTH = (
    status("healthz", "/healthz says ok", lambda f: f["/healthz"], (200, "ok")),
    status("readyz", "/readyz says ok", lambda f: f["/readyz"], (200, "ok")),
    status("healthz-named", "/healthz/healthz, too", lambda f: f["/healthz/healthz"][0], 200),
    status("healthz-ping", "/healthz/ping, too", lambda f: f["/healthz/ping"][0], 200),
    status("readyz-named", "/readyz/readyz, too", lambda f: f["/readyz/readyz"][0], 200),
    status("readyz-verbose", "?verbose lists the checks", lambda f: "[+]readyz ok" in f["/readyz?verbose"][1]),
    untested(
        "user-metrics-api",
        "127.0.0.1:5050/metrics takes metrics",
        "tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    untested(
        "user-metrics-kinds",
        "counter, gauge, histogram and summary, with their rules",
        "tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    untested(
        "user-metrics-errors",
        "400, 404 and 405, with their texts",
        "tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    untested(
        "user-metrics-type",
        "a type stays",
        "tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    untested(
        "user-metrics-zero",
        "set: 0 sets 0; a clash is a 400",
        "tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    untested(
        "user-metrics-exported",
        "on the metrics port",
        "tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    untested("metrics-secure", "TLS and RBAC for the metrics", "tests/contract/test_secure_metrics.py"),
)

METRICS = (
    status("metrics-plain", "/metrics is plain HTTP by default", lambda f: f["metrics status"], 200),
    status(
        "metrics-build-info",
        "ansible_operator_build_info is a gauge, 1, with commit and version",
        lambda f: [
            (kind, sorted(labels), count) for kind, labels, count in samples(f, "ansible_operator_build_info")
        ],
        [("gauge", ["commit", "version"], 1.0)],
    ),
    status(
        "metrics-build-version",
        "version begins with v",
        lambda f: samples(f, "ansible_operator_build_info")[0][1]["version"].startswith("v"),
    ),
    status(
        "metrics-result-type",
        "ansible_operator_reconcile_result is a gauge",
        lambda f: samples(f, "ansible_operator_reconcile_result")[0][0],
        "gauge",
    ),
    status(
        "metrics-result-succeeded",
        "it counts successes by GVK",
        lambda f: value(f, "ansible_operator_reconcile_result", GVK=gvk(f, "Nohost"), result="succeeded"),
        1.0,
    ),
    status(
        "metrics-result-failed",
        "and failures",
        lambda f: value(f, "ansible_operator_reconcile_result", GVK=gvk(f, "Others"), result="failed") >= 1,
    ),
    status(
        "metrics-result-unmanaged",
        "those with manageStatus false, too",
        lambda f: value(f, "ansible_operator_reconcile_result", GVK=gvk(f, "Unmanaged"), result="succeeded") >= 1,
        mended=True,
    ),
    status(
        "metrics-reconciles",
        "ansible_operator_reconciles is a histogram by GVK that counts runs",
        lambda f: [
            (kind, count)
            for kind, _, count in samples(f, "ansible_operator_reconciles_count", GVK=gvk(f, "Nohost"))
        ],
        [("histogram", 1.0)],
    ),
    status(
        "metrics-reconciles-buckets",
        "with Go's default buckets",
        lambda f: [
            float(labels["le"])
            for _, labels, _ in samples(f, "ansible_operator_reconciles_bucket", GVK=gvk(f, "Nohost"))
        ][:-1],
        [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0],
    ),
    status(
        "metrics-reconciles-run",
        "it measures the run",
        lambda f: value(f, "ansible_operator_reconciles_sum", GVK=gvk(f, "Nohost")) > 0.1,
        mended=True,
    ),
    status(
        "metrics-created",
        "resource_created_at_seconds is the creation time",
        lambda f: (
            value(f, CREATED, name="rescued", kind="Managed", namespace=f["namespace"]) == f["rescued created"]
        ),
    ),
    status(
        "metrics-created-labels",
        "by name, namespace, group, version and kind",
        lambda f: (
            samples(f, CREATED, name="rescued")[0][1]
            == {
                "name": "rescued",
                "namespace": f["namespace"],
                "group": f["group"],
                "version": "v1",
                "kind": "Managed",
            }
        ),
    ),
    status("metrics-created-gone", "removed with the CR", lambda f: samples(f, CREATED, name="lived"), []),
    status(
        "metrics-workqueue",
        "workqueue_depth by name and controller",
        lambda f: bool(
            samples(f, "workqueue_depth", controller="managed-v1-controller", name="managed-v1-controller")
        ),
    ),
    status("metrics-process", "process_* are there", lambda f: value(f, "process_resident_memory_bytes") > 0),
    status(
        "metrics-controller-runtime",
        "controller_runtime_*",
        lambda f: bool(
            samples(f, "controller_runtime_reconcile_total", controller="managed-v1-controller", result="success")
        ),
    ),
    status(
        "metrics-controller-workers",
        "controller_runtime_max_concurrent_reconciles",
        lambda f: value(f, "controller_runtime_max_concurrent_reconciles", controller="managed-v1-controller"),
        2.0,
    ),
    status(
        "metrics-controller-errors",
        "controller_runtime_reconcile_errors_total",
        lambda f: value(f, "controller_runtime_reconcile_errors_total", controller="others-v1-controller") >= 1,
    ),
    status(
        "metrics-controller-time",
        "controller_runtime_reconcile_time_seconds",
        lambda f: (
            value(f, "controller_runtime_reconcile_time_seconds_count", controller="nohost-v1-controller") >= 1
        ),
    ),
    status(
        "metrics-controller-active",
        "controller_runtime_active_workers",
        lambda f: bool(samples(f, "controller_runtime_active_workers", controller="managed-v1-controller")),
    ),
    untested(
        "metrics-go",
        "go_*, rest_client_*, certwatcher_*",
        "those of the Go runtime and its libraries; nothing here could fill them",
    ),
    life(
        "metrics-leader",
        "leader_election_master_status",
        lambda f: 'leader_election_master_status{name="chosen"} 1' in f["leader metric"],
    ),
)

ROWS = (
    *HEALTH,
    *METRICS,
)
