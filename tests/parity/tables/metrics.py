"""Health, metrics, and the API for metrics of roles."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, Row


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
    Row(id="healthz", says="/healthz says ok", batch="status", seen=lambda f: f["/healthz"], expected=(200, "ok")),
    Row(id="readyz", says="/readyz says ok", batch="status", seen=lambda f: f["/readyz"], expected=(200, "ok")),
    Row(
        id="healthz-named",
        says="/healthz/healthz, too",
        batch="status",
        seen=lambda f: f["/healthz/healthz"][0],
        expected=200,
    ),
    Row(
        id="healthz-ping",
        says="/healthz/ping, too",
        batch="status",
        seen=lambda f: f["/healthz/ping"][0],
        expected=200,
    ),
    Row(
        id="readyz-named",
        says="/readyz/readyz, too",
        batch="status",
        seen=lambda f: f["/readyz/readyz"][0],
        expected=200,
    ),
    Row(
        id="readyz-verbose",
        says="?verbose lists the checks",
        batch="status",
        seen=lambda f: "[+]readyz ok" in f["/readyz?verbose"][1],
    ),
    Row(
        id="user-metrics-api",
        says="127.0.0.1:5050/metrics takes metrics",
        reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    Row(
        id="user-metrics-kinds",
        says="counter, gauge, histogram and summary, with their rules",
        reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    Row(
        id="user-metrics-errors",
        says="400, 404 and 405, with their texts",
        reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    Row(
        id="user-metrics-type",
        says="a type stays",
        reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    Row(
        id="user-metrics-zero",
        says="set: 0 sets 0; a clash is a 400",
        reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    Row(
        id="user-metrics-exported",
        says="on the metrics port",
        reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py",
    ),
    Row(id="metrics-secure", says="TLS and RBAC for the metrics", reason="tests/contract/test_secure_metrics.py"),
)

METRICS = (
    Row(
        id="metrics-plain",
        says="/metrics is plain HTTP by default",
        batch="status",
        seen=lambda f: f["metrics status"],
        expected=200,
    ),
    Row(
        id="metrics-build-info",
        says="ansible_operator_build_info is a gauge, 1, with commit and version",
        batch="status",
        seen=lambda f: [
            (kind, sorted(labels), count) for kind, labels, count in samples(f, "ansible_operator_build_info")
        ],
        expected=[("gauge", ["commit", "version"], 1.0)],
    ),
    Row(
        id="metrics-build-version",
        says="version begins with v",
        batch="status",
        seen=lambda f: samples(f, "ansible_operator_build_info")[0][1]["version"].startswith("v"),
    ),
    Row(
        id="metrics-result-type",
        says="ansible_operator_reconcile_result is a gauge",
        batch="status",
        seen=lambda f: samples(f, "ansible_operator_reconcile_result")[0][0],
        expected="gauge",
    ),
    Row(
        id="metrics-result-succeeded",
        says="it counts successes by GVK",
        batch="status",
        seen=lambda f: value(f, "ansible_operator_reconcile_result", GVK=gvk(f, "Nohost"), result="succeeded"),
        expected=1.0,
    ),
    Row(
        id="metrics-result-failed",
        says="and failures",
        batch="status",
        seen=lambda f: value(f, "ansible_operator_reconcile_result", GVK=gvk(f, "Others"), result="failed") >= 1,
    ),
    Row(
        id="metrics-result-unmanaged",
        says="those with manageStatus false, too",
        batch="status",
        seen=lambda f: (
            value(f, "ansible_operator_reconcile_result", GVK=gvk(f, "Unmanaged"), result="succeeded") >= 1
        ),
        mended=True,
    ),
    Row(
        id="metrics-reconciles",
        says="ansible_operator_reconciles is a histogram by GVK that counts runs",
        batch="status",
        seen=lambda f: [
            (kind, count)
            for kind, _, count in samples(f, "ansible_operator_reconciles_count", GVK=gvk(f, "Nohost"))
        ],
        expected=[("histogram", 1.0)],
    ),
    Row(
        id="metrics-reconciles-buckets",
        says="with Go's default buckets",
        batch="status",
        seen=lambda f: [
            float(labels["le"])
            for _, labels, _ in samples(f, "ansible_operator_reconciles_bucket", GVK=gvk(f, "Nohost"))
        ][:-1],
        expected=[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0],
    ),
    Row(
        id="metrics-reconciles-run",
        says="it measures the run",
        batch="status",
        seen=lambda f: value(f, "ansible_operator_reconciles_sum", GVK=gvk(f, "Nohost")) > 0.1,
        mended=True,
    ),
    Row(
        id="metrics-created",
        says="resource_created_at_seconds is the creation time",
        batch="status",
        seen=lambda f: (
            value(f, CREATED, name="rescued", kind="Managed", namespace=f["namespace"]) == f["rescued created"]
        ),
    ),
    Row(
        id="metrics-created-labels",
        says="by name, namespace, group, version and kind",
        batch="status",
        seen=lambda f: (
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
    Row(
        id="metrics-created-gone",
        says="removed with the CR",
        batch="status",
        seen=lambda f: samples(f, CREATED, name="lived"),
        expected=[],
    ),
    Row(
        id="metrics-workqueue",
        says="workqueue_depth by name and controller",
        batch="status",
        seen=lambda f: bool(
            samples(f, "workqueue_depth", controller="managed-v1-controller", name="managed-v1-controller")
        ),
    ),
    Row(
        id="metrics-process",
        says="process_* are there",
        batch="status",
        seen=lambda f: value(f, "process_resident_memory_bytes") > 0,
    ),
    Row(
        id="metrics-controller-runtime",
        says="controller_runtime_*",
        batch="status",
        seen=lambda f: bool(
            samples(f, "controller_runtime_reconcile_total", controller="managed-v1-controller", result="success")
        ),
    ),
    Row(
        id="metrics-controller-workers",
        says="controller_runtime_max_concurrent_reconciles",
        batch="status",
        seen=lambda f: value(
            f, "controller_runtime_max_concurrent_reconciles", controller="managed-v1-controller"
        ),
        expected=2.0,
    ),
    Row(
        id="metrics-controller-errors",
        says="controller_runtime_reconcile_errors_total",
        batch="status",
        seen=lambda f: (
            value(f, "controller_runtime_reconcile_errors_total", controller="others-v1-controller") >= 1
        ),
    ),
    Row(
        id="metrics-controller-time",
        says="controller_runtime_reconcile_time_seconds",
        batch="status",
        seen=lambda f: (
            value(f, "controller_runtime_reconcile_time_seconds_count", controller="nohost-v1-controller") >= 1
        ),
    ),
    Row(
        id="metrics-controller-active",
        says="controller_runtime_active_workers",
        batch="status",
        seen=lambda f: bool(samples(f, "controller_runtime_active_workers", controller="managed-v1-controller")),
    ),
    Row(
        id="metrics-go",
        says="go_*, rest_client_*, certwatcher_*",
        reason="those of the Go runtime and its libraries; nothing here could fill them",
    ),
    Row(
        id="metrics-leader",
        says="leader_election_master_status",
        batch="life",
        seen=lambda f: 'leader_election_master_status{name="chosen"} 1' in f["leader metric"],
    ),
)

ROWS = (
    *HEALTH,
    *METRICS,
)
