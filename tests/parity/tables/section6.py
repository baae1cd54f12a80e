"""6. Metrics, health, user metrics API."""

# fmt: off

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, Row


def samples(facts: Facts, metric: str, /, **labels: str) -> list[Any]:
    """(type, labels, value) of the samples of that name that have these labels."""
    return [(kind, found, value) for kind, sample, found, value in facts["metrics"] if sample == metric and labels.items() <= found.items()]


def value(facts: Facts, metric: str, /, **labels: str) -> Any:
    found = samples(facts, metric, **labels)
    return found[0][2] if found else None


def gvk(facts: Facts, kind: str) -> str:
    return f"{facts['group']}/v1, Kind={kind}"


CREATED = "resource_created_at_seconds"

HEALTH = (
    Row("6-healthz", "/healthz says ok", "status", lambda f: f["/healthz"], (200, "ok")),
    Row("6-readyz", "/readyz says ok", "status", lambda f: f["/readyz"], (200, "ok")),
    Row("6-healthz-named", "/healthz/healthz, too", "status", lambda f: f["/healthz/healthz"][0], 200),
    Row("6-healthz-ping", "/healthz/ping, too", "status", lambda f: f["/healthz/ping"][0], 200),
    Row("6-readyz-named", "/readyz/readyz, too", "status", lambda f: f["/readyz/readyz"][0], 200),
    Row("6-verbose", "?verbose lists the checks", "status", lambda f: "[+]readyz ok" in f["/readyz?verbose"][1]),
    Row("6-user-metrics-api", "127.0.0.1:5050/metrics takes metrics", reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py"),
    Row("6-user-metrics-kinds", "counter, gauge, histogram and summary, with their rules", reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py"),
    Row("6-user-metrics-errors", "400, 404 and 405, with their texts", reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py"),
    Row("6-user-metrics-type", "a type stays", reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py"),
    Row("6-user-metrics-zero", "set: 0 sets 0; a clash is a 400", reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py"),
    Row("6-user-metrics-exported", "on the metrics port", reason="tests/contract/test_user_metrics.py, tests/integration/test_metrics.py"),
    Row("6-metrics-secure", "TLS and RBAC for the metrics", reason="tests/contract/test_secure_metrics.py"),
)

METRICS = (
    Row("6-metrics", "/metrics is plain HTTP by default", "status", lambda f: f["metrics status"], 200),
    Row("6-build-info", "ansible_operator_build_info is a gauge, 1, with commit and version", "status", lambda f: [(kind, sorted(labels), count) for kind, labels, count in samples(f, "ansible_operator_build_info")], [("gauge", ["commit", "version"], 1.0)]),
    Row("6-build-version", "version begins with v", "status", lambda f: samples(f, "ansible_operator_build_info")[0][1]["version"].startswith("v")),
    Row("6-result-type", "ansible_operator_reconcile_result is a gauge", "status", lambda f: samples(f, "ansible_operator_reconcile_result")[0][0], "gauge"),
    Row("6-result-succeeded", "it counts successes by GVK", "status", lambda f: value(f, "ansible_operator_reconcile_result", GVK=gvk(f, "Nohost"), result="succeeded"), 1.0),
    Row("6-result-failed", "and failures", "status", lambda f: value(f, "ansible_operator_reconcile_result", GVK=gvk(f, "Others"), result="failed") >= 1),
    Row("6-result-unmanaged", "those with manageStatus false, too", "status", lambda f: value(f, "ansible_operator_reconcile_result", GVK=gvk(f, "Unmanaged"), result="succeeded") >= 1, mended=True),
    Row("6-reconciles", "ansible_operator_reconciles is a histogram by GVK that counts runs", "status", lambda f: [(kind, count) for kind, _, count in samples(f, "ansible_operator_reconciles_count", GVK=gvk(f, "Nohost"))], [("histogram", 1.0)]),
    Row("6-reconciles-buckets", "with Go's default buckets", "status", lambda f: [float(labels["le"]) for _, labels, _ in samples(f, "ansible_operator_reconciles_bucket", GVK=gvk(f, "Nohost"))][:-1], [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]),
    Row("6-reconciles-run", "it measures the run", "status", lambda f: value(f, "ansible_operator_reconciles_sum", GVK=gvk(f, "Nohost")) > 0.1, mended=True),
    Row("6-created", "resource_created_at_seconds is the creation time", "status", lambda f: value(f, CREATED, name="rescued", kind="Managed", namespace=f["namespace"]) == f["rescued created"]),
    Row("6-created-labels", "by name, namespace, group, version and kind", "status", lambda f: samples(f, CREATED, name="rescued")[0][1] == {"name": "rescued", "namespace": f["namespace"], "group": f["group"], "version": "v1", "kind": "Managed"}),
    Row("6-created-gone", "removed with the CR", "status", lambda f: samples(f, CREATED, name="lived"), []),
    Row("6-workqueue", "workqueue_depth by name and controller", "status", lambda f: bool(samples(f, "workqueue_depth", controller="managed-v1-controller", name="managed-v1-controller"))),
    Row("6-process", "process_* are there", "status", lambda f: value(f, "process_resident_memory_bytes") > 0),
    Row("6-controller-runtime", "controller_runtime_*", "status", lambda f: bool(samples(f, "controller_runtime_reconcile_total", controller="managed-v1-controller", result="success"))),
    Row("6-controller-workers", "controller_runtime_max_concurrent_reconciles", "status", lambda f: value(f, "controller_runtime_max_concurrent_reconciles", controller="managed-v1-controller"), 2.0),
    Row("6-controller-errors", "controller_runtime_reconcile_errors_total", "status", lambda f: value(f, "controller_runtime_reconcile_errors_total", controller="others-v1-controller") >= 1),
    Row("6-controller-time", "controller_runtime_reconcile_time_seconds", "status", lambda f: value(f, "controller_runtime_reconcile_time_seconds_count", controller="nohost-v1-controller") >= 1),
    Row("6-controller-active", "controller_runtime_active_workers", "status", lambda f: bool(samples(f, "controller_runtime_active_workers", controller="managed-v1-controller"))),
    Row("6-go", "go_*, rest_client_*, certwatcher_*", reason="those of the Go runtime and its libraries; nothing here could fill them"),
    Row("6-leader", "leader_election_master_status", "life", lambda f: 'leader_election_master_status{name="chosen"} 1' in f["leader metric"]),
)

SECTION_6 = (*HEALTH, *METRICS)
