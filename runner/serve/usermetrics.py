"""The user metrics API: what runs report becomes metrics of the operator.

Rules and texts are those of the Go operator, with these differences: a gauge can be set to 0, a name that one of
the operator's own metrics has is refused, and so are too many and too long ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from aiohttp import web
from prometheus_client import CollectorRegistry, Gauge, Histogram, Summary
from prometheus_client.metrics_core import Metric

from runner.config.settings import Settings
from runner.errors import MetricError
from runner.families import GO_BUCKETS
from runner.serve.metrics import Listener

MOST_METRICS = 1000
LONGEST_NAME = 256
LONGEST_DESCRIPTION = 4096
"""Characters. Every metric is kept until the operator ends, and sent at each scrape."""

_FIELDS: Mapping[str, Mapping[str, type]] = {
    "counter": {"increment": bool, "add": float},
    "gauge": {
        "increment": bool,
        "decrement": bool,
        "add": float,
        "subtract": float,
        "set": float,
        "set_to_current_time": bool,
    },
    "histogram": {"observe": float},
    "summary": {"observe": float},
}


def of(settings: Settings, registry: CollectorRegistry) -> Listener:
    """The operator's. Raises SettingsError for an address that is none."""
    return listener(settings.user_metrics_bind_address, registry, optional=settings.user_metrics_optional)


def listener(address: str, registry: CollectorRegistry, *, optional: bool = False) -> Listener:
    """`POST /metrics`, into `registry`. Raises SettingsError for an address that is none.

    `optional`: where another process listens there, nothing does here.
    """
    known = UserMetrics(registry)

    async def record(request: web.Request) -> web.Response:
        try:
            known.record(parse(await request.read()))
        except MetricError as error:
            return web.Response(status=400, text=f"{error}\n")
        return web.Response()

    application = web.Application()
    application.router.add_post("/metrics", record)
    return Listener(address, application, "--user-metrics-bind-address", optional=optional)


@dataclass(frozen=True, slots=True)
class Request:
    """One change of one metric. `change` holds what was given of the kind's fields, null left out."""

    name: str
    description: str
    kind: str
    change: Mapping[str, Any]


def parse(body: bytes) -> Request:
    """What a request asks for; keys are matched without regard to case. Raises MetricError."""
    given = _object("the request", _decoded(body))
    changes = {kind: given[kind] for kind in _FIELDS if given.get(kind) is not None}
    if not changes:
        raise MetricError("a request should contain at least one metric")
    if len(changes) > 1:
        raise MetricError("only one metric can be processed at a time")
    ((kind, change),) = changes.items()
    fields = {name: value for name, value in _object(kind, change).items() if name in _FIELDS[kind]}
    return Request(
        _text("name", given.get("name")),
        _text("description", given.get("description")),
        kind,
        {
            name: _typed(f"{kind}.{name}", value, _FIELDS[kind][name])
            for name, value in fields.items()
            if value is not None
        },
    )


class UserMetrics:
    """The metrics that runs made, by name; the first use of a name settles its kind and its help text."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._known: dict[str, _Counter | Gauge | Histogram | Summary] = {}
        self._others: frozenset[str] | None = None

    def record(self, request: Request) -> None:
        """Raises MetricError for a change that is not possible, and for a name that is not to be had."""
        if (
            request.kind == "counter"
            and request.change.get("add", 0.0) < 0
            and not request.change.get("increment")
        ):
            raise MetricError("counter metrics cannot decrease in value")
        metric = self._known.get(request.name) or self._registered(request)
        match request.kind, metric:
            case "counter", _Counter():
                metric.add(1.0 if request.change.get("increment") else request.change.get("add", 0.0))
            case "gauge", Gauge():
                _change_gauge(metric, request.change)
            case "histogram" | "summary", Histogram() | Summary():
                metric.observe(request.change.get("observe", 0.0))
            case _:
                raise MetricError(f"cannot change metric type of {request.name}, which is a {_described(metric)}")

    def _registered(self, request: Request) -> _Counter | Gauge | Histogram | Summary:
        name, help_text = request.name, request.description
        if len(self._known) >= MOST_METRICS:
            raise MetricError(f"there are {MOST_METRICS} metrics already, which is the most: use fewer names")
        if len(name) > LONGEST_NAME or len(help_text) > LONGEST_DESCRIPTION:
            raise MetricError(
                f"a name has at most {LONGEST_NAME} characters, a description {LONGEST_DESCRIPTION}: shorten them"
            )
        if self._others is None:
            self._others = _names_on(self._registry)
        try:
            if name in self._others:
                raise MetricError(f"{name} is the name of another metric: choose another name")
            metric: _Counter | Gauge | Histogram | Summary
            match request.kind:
                case "counter":
                    metric = _Counter(name, help_text)
                    self._registry.register(metric)
                case "gauge":
                    metric = Gauge(name, help_text, registry=self._registry)
                case "histogram":
                    metric = Histogram(name, help_text, buckets=GO_BUCKETS, registry=self._registry)
                case _:
                    metric = Summary(name, help_text, registry=self._registry)
        except ValueError as error:
            raise MetricError(f"{name}: {error}: choose another name") from error
        self._known[name] = metric
        return metric


def _names_on(registry: CollectorRegistry) -> frozenset[str]:
    """The names of the operator's own metrics: not all collectors tell the registry theirs."""
    families = list(registry.collect())
    named = {family.name for family in families if family.type != "counter"}
    return frozenset(named | {sample.name for family in families for sample in family.samples})


class _Counter:
    """A counter under the very name it was given; the library's would append `_total`.

    Without that suffix its type is unknown here, for the library knows counters by the suffix only; /metrics says
    counter.
    """

    def __init__(self, name: str, help_text: str) -> None:
        self._name = name
        self._help = help_text
        self._value = 0.0
        Metric(name, help_text, "unknown")  # raises ValueError for a name that is none

    def add(self, number: float) -> None:
        self._value += number

    def describe(self) -> Iterable[Metric]:
        yield Metric(self._name, self._help, "unknown")

    def collect(self) -> Iterable[Metric]:
        total = self._name.endswith("_total")
        metric = Metric(self._name.removesuffix("_total"), self._help, "counter" if total else "unknown")
        metric.add_sample(self._name, {}, self._value)
        yield metric


def _change_gauge(gauge: Gauge, change: Mapping[str, Any]) -> None:
    """The first that applies; a 0 to set comes last, for clients that send each field they leave alone as 0."""
    if change.get("increment"):
        gauge.inc()
    elif change.get("decrement"):
        gauge.dec()
    elif change.get("add"):
        gauge.inc(change["add"])
    elif change.get("subtract"):
        gauge.dec(change["subtract"])
    elif change.get("set"):
        gauge.set(change["set"])
    elif change.get("set_to_current_time"):
        gauge.set_to_current_time()
    elif "set" in change:
        gauge.set(0.0)


def _described(metric: _Counter | Gauge | Histogram | Summary) -> str:
    match metric:
        case _Counter():
            return "counter"
        case Gauge():
            return "gauge"
        case _:
            return "histogram or summary"


def _decoded(body: bytes) -> Any:  # noqa: ANN401  (any JSON value)
    try:
        return json.loads(body, parse_constant=_no_number)
    except ValueError as error:
        raise MetricError(f"the request is not JSON: {error}") from error
    except RecursionError:
        raise MetricError("the request has too many levels") from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number in JSON")


def _object(what: str, value: Any) -> dict[str, Any]:  # noqa: ANN401  (any JSON value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MetricError(f"{what} should be an object")
    return {key.lower(): item for key, item in value.items()}


def _text(what: str, value: Any) -> str:  # noqa: ANN401  (any JSON value)
    if value is not None and not isinstance(value, str):
        raise MetricError(f"{what} should be a string")
    return value or ""


def _typed(what: str, value: Any, type_: type) -> bool | float:  # noqa: ANN401  (any JSON value)
    if type_ is bool:
        if not isinstance(value, bool):
            raise MetricError(f"{what} should be true or false")
        return value
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise MetricError(f"{what} should be a number")
    return number
