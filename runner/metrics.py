"""What the operator counts and measures, for Prometheus; `families` has the names and meanings."""

from __future__ import annotations

import heapq
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.gc_collector import GCCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from runner import families
from runner.families import FAMILIES, Family, Sample, Type
from runner.objects import GroupVersionKind, ObjectKey

MOST_FAILING = 100
MOST_TASKS = 200
"""Time series at most: what is labelled by object or task would grow without end."""
_OTHER = ("other", "other")


class Metrics:
    """Every metric of one operator, in a registry of its own. Durations are in seconds."""

    def __init__(self, watched: Iterable[GroupVersionKind] = ()) -> None:
        """`watched` tells which controllers would have the same name, and which series are there at once."""
        watched = list(watched)
        self.controllers = controller_names(watched)
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library's switch is not annotated
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        GCCollector(registry=registry)
        self._build = _gauge(families.BUILD, registry)
        self._created = _gauge(families.CREATED, registry)
        self._master = _gauge(families.MASTER, registry)
        self._requests = _counter(families.REQUESTS, registry)
        self._proxied = _histogram(families.PROXIED, registry)
        self._reasons = _counter(families.REASONS, registry)
        self._reviews = _counter(families.REVIEWS, registry)
        self._review_time = _histogram(families.REVIEW_TIME, registry)
        self._pruned = _counter(families.PRUNED, registry)
        self._task_failures = _counter(families.TASK_FAILURES, registry)
        self._by_kind = _ByKind.made(registry)
        self._kinds: dict[GroupVersionKind, _Kind] = {}
        self._requested: dict[tuple[str, str, str], Counter] = {}
        self._tasks: set[tuple[GroupVersionKind, str, str]] = set()
        self._objects = _Objects(watched)
        self._live = _Live(self._objects)
        registry.register(self._live)
        for gvk in watched:
            self._kind(gvk)

    def live(self, read: Callable[[], Iterable[Sample]]) -> None:
        """Have `read` called at each scrape, for the metrics that are read then."""
        self._live.read.append(read)

    def build(self, version: str, commit: str) -> None:
        self._build.labels(commit=commit, version=version).set(1)

    def reconciled(self, gvk: GroupVersionKind, seconds: float) -> None:
        self._kind(gvk).reconciles.observe(seconds)

    def result(self, gvk: GroupVersionKind, *, succeeded: bool) -> None:
        self._kind(gvk).results[succeeded].inc()

    def framework(self, gvk: GroupVersionKind, result: str, seconds: float) -> None:
        """`result` is success, error or requeue_after."""
        kind = self._kind(gvk)
        kind.totals[result].inc()
        if result == "error":
            kind.errors.inc()
        kind.time.observe(seconds)

    def worked(self, gvk: GroupVersionKind, *, waited: float, seconds: float) -> None:
        """A worker is done with a request, which had waited for it."""
        kind = self._kind(gvk)
        kind.waited.observe(waited)
        kind.worked.observe(seconds)

    def object_reconciled(self, key: ObjectKey, *, succeeded: bool) -> None:
        """An object's reconcile has succeeded or failed."""
        self._objects.object_reconciled(key, succeeded=succeeded)

    def forget(self, key: ObjectKey) -> None:
        """A reconcile has found that the object is no more."""
        self._objects.gone(key)

    def master(self, name: str, *, leading: bool) -> None:
        self._master.labels(name).set(leading)

    def ran(self, gvk: GroupVersionKind, seconds: float, *, succeeded: bool, engine: str = "cold") -> None:
        kind = self._kind(gvk)
        kind.runs[succeeded].observe(seconds)
        kind.engines[engine].inc()

    def task_failed(self, gvk: GroupVersionKind, action: str, task: str) -> None:
        """`task` is its file:line."""
        series = (gvk, action, task)
        if series not in self._tasks and len(self._tasks) >= MOST_TASKS:
            action, task = _OTHER
        else:
            self._tasks.add(series)
        self._task_failures.labels(*_kind_of(gvk), action, task).inc()

    def ran_because(self, gvk: GroupVersionKind, trigger: str, result: str) -> None:
        """`result` is succeeded, failed or interrupted."""
        self._reasons.labels(gvk.group, gvk.version, gvk.kind, trigger, result).inc()

    def pruned(self, gvk: GroupVersionKind, number: int) -> None:
        """So many dependents of an object of that kind were deleted."""
        self._pruned.labels(str(gvk)).inc(number)

    def created(self, key: ObjectKey, unix_time: float) -> None:
        self._created.labels(*_resource(key)).set(unix_time)

    def gone(self, key: ObjectKey) -> None:
        self._objects.gone(key)
        self._created.remove(*_resource(key))

    def requested(self, method: str, host: str, code: str) -> None:
        """The operator has asked the API server; `code` is the answer's status."""
        series = (code, method, host)
        counter = self._requested.get(series)
        if counter is None:
            counter = self._requested[series] = self._requests.labels(*series)
        counter.inc()

    def proxied(self, method: str, code: int, seconds: float) -> None:
        self._proxied.labels(method, str(code)).observe(seconds)

    def reviewed(self, gvk: GroupVersionKind, webhook: str, result: str, seconds: float) -> None:
        """`webhook` is validate, default or convert."""
        self._reviews.labels(*_kind_of(gvk), webhook, result).inc()
        self._review_time.labels(*_kind_of(gvk), webhook).observe(seconds)

    def _kind(self, gvk: GroupVersionKind) -> _Kind:
        kind = self._kinds.get(gvk)
        if kind is None:
            name = self.controllers.setdefault(gvk, _controller(gvk))
            kind = self._kinds[gvk] = _Kind.made(self._by_kind, str(gvk), name)
        return kind


class _ByKind(NamedTuple):
    """The metrics that every reconcile changes."""

    results: Gauge
    reconciles: Histogram
    totals: Counter
    errors: Counter
    time: Histogram
    waited: Histogram
    worked: Histogram
    runs: Histogram
    engines: Counter

    @classmethod
    def made(cls, registry: CollectorRegistry) -> _ByKind:
        return cls(
            results=_gauge(families.RESULTS, registry),
            reconciles=_histogram(families.RECONCILES, registry),
            totals=_counter(families.RECONCILE_TOTAL, registry),
            errors=_counter(families.RECONCILE_ERRORS, registry),
            time=_histogram(families.RECONCILE_TIME, registry),
            waited=_histogram(families.WAITED, registry),
            worked=_histogram(families.WORKED, registry),
            runs=_histogram(families.RUNS, registry),
            engines=_counter(families.ENGINES, registry),
        )


class _Kind(NamedTuple):
    """Those of one kind, looked up once: a label costs more than what it counts. All begin at 0."""

    results: dict[bool, Gauge]
    reconciles: Histogram
    totals: dict[str, Counter]
    errors: Counter
    time: Histogram
    waited: Histogram
    worked: Histogram
    runs: dict[bool, Histogram]
    engines: dict[str, Counter]

    @classmethod
    def made(cls, of: _ByKind, gvk: str, controller: str) -> _Kind:
        ends = {True: "succeeded", False: "failed"}
        return cls(
            results={end: of.results.labels(gvk, text) for end, text in ends.items()},
            reconciles=of.reconciles.labels(gvk),
            totals={name: of.totals.labels(controller, name) for name in ("success", "error", "requeue_after")},
            errors=of.errors.labels(controller),
            time=of.time.labels(controller),
            waited=of.waited.labels(controller, controller),
            worked=of.worked.labels(controller, controller),
            runs={end: of.runs.labels(gvk, text) for end, text in ends.items()},
            engines={name: of.engines.labels(gvk, name) for name in ("warm", "cold")},
        )


class _Objects:
    """Which custom resources fail, and since when; those that nobody has reconciled yet are not there."""

    def __init__(self, watched: Iterable[GroupVersionKind]) -> None:
        self._watched = list(watched)
        self._fine: set[ObjectKey] = set()
        self._failing: dict[ObjectKey, float] = {}

    def object_reconciled(self, key: ObjectKey, *, succeeded: bool) -> None:
        if not succeeded:
            self._fine.discard(key)
            self._failing.setdefault(key, time.time())
        elif key not in self._fine:
            self._fine.add(key)
            self._failing.pop(key, None)

    def gone(self, key: ObjectKey) -> None:
        self._fine.discard(key)
        self._failing.pop(key, None)

    def __call__(self) -> Iterator[Sample]:
        for condition, keys in (("Failure", self._failing), ("Successful", self._fine)):
            found = Tally(key.gvk for key in keys)
            for gvk in dict.fromkeys([*self._watched, *found]):
                yield families.OBJECTS, (*_kind_of(gvk), condition), found[gvk]
        for key, since in heapq.nsmallest(MOST_FAILING, self._failing.items(), key=lambda item: item[1]):
            yield families.FAILING_SINCE, _resource(key), since


class _Live(Collector):
    """What is read when somebody scrapes: it costs nothing while nobody does."""

    def __init__(self, *read: Callable[[], Iterable[Sample]]) -> None:
        self.read = list(read)

    def collect(self) -> Iterator[Metric]:
        found = {family.name: _metric(family) for family in FAMILIES if family.live}
        for read in self.read:
            for family, values, value in read():
                labels = dict(zip(family.labels, values, strict=True))
                found[family.name].add_sample(family.name, labels, value)
        yield from found.values()

    def describe(self) -> Iterator[Metric]:
        """For the registry, which would collect to know the names."""
        yield from (_metric(family) for family in FAMILIES if family.live)


def _metric(family: Family) -> Metric:
    name = family.name.removesuffix("_total") if family.type is Type.COUNTER else family.name
    return Metric(name, family.meaning, str(family.type))


def _counter(family: Family, registry: CollectorRegistry) -> Counter:
    return Counter(family.name, family.meaning, family.labels, registry=registry)


def _gauge(family: Family, registry: CollectorRegistry) -> Gauge:
    return Gauge(family.name, family.meaning, family.labels, registry=registry)


def _histogram(family: Family, registry: CollectorRegistry) -> Histogram:
    return Histogram(family.name, family.meaning, family.labels, buckets=family.buckets, registry=registry)


def _kind_of(gvk: GroupVersionKind) -> tuple[str, str, str]:
    return gvk.group, gvk.version, gvk.kind


def _resource(key: ObjectKey) -> tuple[str, ...]:
    return key.name, key.namespace, *_kind_of(key.gvk)


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
