"""Counters and histograms, under the names that existing dashboards ask for."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

from runner.objects import GroupVersionKind, ObjectKey

GO_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The Go client's defaults, in seconds: kept where its metric is."""
FRAMEWORK_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 40, 50, 60)
"""Of controller-runtime's reconcile time, in seconds; a few of its finest are left out."""
RUN_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)


class Metrics:
    """Every metric of one operator, in a registry of its own. Durations are in seconds."""

    def __init__(self, watched: Iterable[GroupVersionKind] = ()) -> None:
        """`watched` tells which controllers would have the same name."""
        self._controllers = controller_names(watched)
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library's switch is not annotated
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        GCCollector(registry=registry)
        self._declare_go(registry)
        self._declare_framework(registry)
        self._declare_own(registry)

    def _declare_go(self, registry: CollectorRegistry) -> None:
        """Those of the Go operator."""
        self._build = Gauge(
            "ansible_operator_build_info", "Version of the operator.", ["commit", "version"], registry=registry
        )
        self._results = Gauge(
            "ansible_operator_reconcile_result", "Finished reconciles.", ["GVK", "result"], registry=registry
        )
        self._reconciles = Histogram(
            "ansible_operator_reconciles",
            "Seconds of a reconcile, run included.",
            ["GVK"],
            buckets=GO_BUCKETS,
            registry=registry,
        )
        self._created = Gauge(
            "resource_created_at_seconds",
            "When a custom resource was created, in Unix time.",
            ["name", "namespace", "group", "version", "kind"],
            registry=registry,
        )
        self._depth = Gauge("workqueue_depth", "Keys waiting.", ["name", "controller"], registry=registry)
        self._waited = Histogram(
            "workqueue_queue_duration_seconds",
            "Seconds a due key waited.",
            ["name", "controller"],
            buckets=RUN_BUCKETS,
            registry=registry,
        )

    def _declare_framework(self, registry: CollectorRegistry) -> None:
        """Those of controller-runtime and client-go that dashboards ask for."""
        self._framework_results = Counter(
            "controller_runtime_reconcile_total",
            "Finished reconciles.",
            ["controller", "result"],
            registry=registry,
        )
        self._framework_errors = Counter(
            "controller_runtime_reconcile_errors_total", "Failed reconciles.", ["controller"], registry=registry
        )
        self._framework_time = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Seconds of a reconcile, run included.",
            ["controller"],
            buckets=FRAMEWORK_BUCKETS,
            registry=registry,
        )
        self._active = Gauge(
            "controller_runtime_active_workers", "Reconciles under way.", ["controller"], registry=registry
        )
        self._most_active = Gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Most reconciles at a time.",
            ["controller"],
            registry=registry,
        )
        self._master = Gauge(
            "leader_election_master_status", "1 while this process leads.", ["name"], registry=registry
        )

    def _declare_own(self, registry: CollectorRegistry) -> None:
        self._runs = Histogram(
            "ansible_operator_run_seconds",
            "Seconds of an Ansible run.",
            ["GVK", "result"],
            buckets=RUN_BUCKETS,
            registry=registry,
        )
        self._engines = Counter(
            "ansible_operator_runs_started_total",
            "Runs by how they were started.",
            ["GVK", "engine"],
            registry=registry,
        )
        self._reasons = Counter(
            "ansible_operator_runs_total",
            "Runs that ended, by the most urgent reason they had.",
            ["group", "version", "kind", "trigger", "result"],
            registry=registry,
        )
        self._proxied = Histogram(
            "ansible_operator_proxy_request_seconds",
            "Seconds of a role's API request, by method and answer.",
            ["method", "code"],
            buckets=GO_BUCKETS,
            registry=registry,
        )
        self._watches = Gauge(
            "ansible_operator_reflector_restarts",
            "Times a list and watch had to begin anew.",
            ["GVK", "namespace"],
            registry=registry,
        )

    def build(self, version: str, commit: str) -> None:
        self._build.labels(commit=commit, version=version).set(1)

    def reconciled(self, gvk: GroupVersionKind, seconds: float) -> None:
        self._reconciles.labels(str(gvk)).observe(seconds)

    def result(self, gvk: GroupVersionKind, *, succeeded: bool) -> None:
        self._results.labels(str(gvk), _result(succeeded)).inc()

    def framework(self, gvk: GroupVersionKind, result: str, seconds: float) -> None:
        """`result` is success, error or requeue_after."""
        controller, _ = self._controller(gvk)
        self._framework_results.labels(controller, result).inc()
        self._framework_errors.labels(controller).inc(result == "error")
        self._framework_time.labels(controller).observe(seconds)

    def workers(self, gvk: GroupVersionKind, *, active: int, most: int) -> None:
        controller, _ = self._controller(gvk)
        self._active.labels(controller).set(active)
        self._most_active.labels(controller).set(most)

    def master(self, name: str, *, leading: bool) -> None:
        self._master.labels(name).set(leading)

    def ran(self, gvk: GroupVersionKind, seconds: float, *, succeeded: bool, engine: str = "cold") -> None:
        self._runs.labels(str(gvk), _result(succeeded)).observe(seconds)
        self._engines.labels(str(gvk), engine).inc()

    def ran_because(self, gvk: GroupVersionKind, trigger: str, result: str) -> None:
        """`result` is succeeded, failed or interrupted."""
        self._reasons.labels(gvk.group, gvk.version, gvk.kind, trigger, result).inc()

    def created(self, key: ObjectKey, unix_time: float) -> None:
        self._created.labels(*_resource(key)).set(unix_time)

    def gone(self, key: ObjectKey) -> None:
        self._created.remove(*_resource(key))

    def queue_depth(self, gvk: GroupVersionKind, keys: int) -> None:
        self._depth.labels(*self._controller(gvk)).set(keys)

    def queue_wait(self, gvk: GroupVersionKind, seconds: float) -> None:
        self._waited.labels(*self._controller(gvk)).observe(seconds)

    def _controller(self, gvk: GroupVersionKind) -> tuple[str, str]:
        """The controller's name, in both labels."""
        name = self._controllers.get(gvk) or _controller(gvk)
        return name, name

    def proxied(self, method: str, code: int, seconds: float) -> None:
        self._proxied.labels(method, str(code)).observe(seconds)

    def reflector_restarts(self, gvk: GroupVersionKind, namespace: str, restarts: int) -> None:
        self._watches.labels(str(gvk), namespace).set(restarts)


def _result(succeeded: bool) -> str:
    return "succeeded" if succeeded else "failed"


def _resource(key: ObjectKey) -> tuple[str, ...]:
    return (key.name, key.namespace, key.gvk.group, key.gvk.version, key.gvk.kind)


def controller_names(watched: Iterable[GroupVersionKind]) -> dict[GroupVersionKind, str]:
    """Each kind's controller as the Go operator names it; kinds that would share one get their group into it."""
    kinds = list(watched)
    shared = Tally(map(_controller, kinds))
    return {
        gvk: _controller(gvk, f"-{gvk.group}" if shared[_controller(gvk)] > 1 else "")
        for gvk in dict.fromkeys(kinds)
    }


def _controller(gvk: GroupVersionKind, group: str = "") -> str:
    return f"{gvk.kind.lower()}-{gvk.version}{group}-controller"
