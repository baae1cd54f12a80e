"""Every metric of the operator as data: what `metrics` makes of it, and what docs/metrics.md says.

Durations are in seconds. The names and labels of the Go operator, controller-runtime and client-go stay as they
are: dashboards ask for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

GO_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The Go client's defaults: kept where its metric is."""
FRAMEWORK_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 40, 50, 60)
"""Of controller-runtime's reconcile time; a few of its finest are left out."""
RUN_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)


class Type(StrEnum):
    """As `# TYPE` says it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Family:
    """One metric. `question` is one that it answers; `live` ones are read when somebody scrapes."""

    name: str
    type: Type
    labels: tuple[str, ...]
    meaning: str
    question: str
    buckets: tuple[float, ...] = ()
    live: bool = False


Sample = tuple[Family, tuple[str, ...], float]
"""The value of a live metric for the values of its labels, in their order."""


def _counter(name: str, labels: str, meaning: str, question: str, *, live: bool = False) -> Family:
    return Family(name, Type.COUNTER, tuple(labels.split()), meaning, question, live=live)


def _gauge(name: str, labels: str, meaning: str, question: str, *, live: bool = False) -> Family:
    return Family(name, Type.GAUGE, tuple(labels.split()), meaning, question, live=live)


def _histogram(name: str, labels: str, meaning: str, question: str, buckets: Iterable[float]) -> Family:
    return Family(name, Type.HISTOGRAM, tuple(labels.split()), meaning, question, tuple(buckets))


_KIND = "group version kind"
_QUEUE = "name controller"

BUILD = _gauge(
    "ansible_operator_build_info", "commit version", "Version of the operator; always 1.", "Which version runs?"
)
RESULTS = _gauge(
    "ansible_operator_reconcile_result",
    "GVK result",
    "Finished reconciles, by result (succeeded, failed).",
    "Which share of reconciles fails?",
)
RECONCILES = _histogram(
    "ansible_operator_reconciles",
    "GVK",
    "Seconds of a reconcile, run included.",
    "How long does a change take, once its turn has come?",
    GO_BUCKETS,
)
CREATED = _gauge(
    "resource_created_at_seconds",
    "name namespace group version kind",
    "When a custom resource was created, in Unix time.",
    "Which custom resources are there, and how many?",
)

RECONCILE_TOTAL = _counter(
    "controller_runtime_reconcile_total",
    "controller result",
    "Finished reconciles, by result (success, error, requeue_after).",
    "How many reconciles are there per second?",
)
RECONCILE_ERRORS = _counter(
    "controller_runtime_reconcile_errors_total", "controller", "Failed reconciles.", "Do reconciles fail just now?"
)
RECONCILE_TIME = _histogram(
    "controller_runtime_reconcile_time_seconds",
    "controller",
    "Seconds of a reconcile, run included.",
    "How long do reconciles take?",
    FRAMEWORK_BUCKETS,
)
ACTIVE = _gauge(
    "controller_runtime_active_workers", "controller", "Reconciles under way.", "Is every worker busy?", live=True
)
MOST_ACTIVE = _gauge(
    "controller_runtime_max_concurrent_reconciles",
    "controller",
    "Most reconciles at a time (`--max-concurrent-reconciles`).",
    "How many workers does a kind have?",
    live=True,
)
DEPTH = _gauge(
    "workqueue_depth", _QUEUE, "Requests that are due and wait for a worker.", "Is there a backlog?", live=True
)
ADDS = _counter(
    "workqueue_adds_total",
    _QUEUE,
    "Requests that became due.",
    "How much work comes in: more than is done?",
    live=True,
)
RETRIES = _counter(
    "workqueue_retries_total",
    _QUEUE,
    "Requests put back after a failure. A period is none, unlike in client-go.",
    "How much of the work is retries?",
    live=True,
)
WAITED = _histogram(
    "workqueue_queue_duration_seconds",
    _QUEUE,
    "Seconds a request waited for a worker, once it was due.",
    "How long does a change wait in the queue?",
    RUN_BUCKETS,
)
WORKED = _histogram(
    "workqueue_work_duration_seconds",
    _QUEUE,
    "Seconds a worker spent on a request, those that run nothing included.",
    "How long is a worker taken by one request?",
    RUN_BUCKETS,
)
UNFINISHED = _gauge(
    "workqueue_unfinished_work_seconds",
    _QUEUE,
    "Seconds that the requests under way have been worked on, added up.",
    "Are workers stuck?",
    live=True,
)
LONGEST = _gauge(
    "workqueue_longest_running_processor_seconds",
    _QUEUE,
    "Seconds that the oldest request under way has been worked on; 0 if there is none.",
    "For how long has the slowest worker been busy?",
    live=True,
)
REQUESTS = _counter(
    "rest_client_requests_total",
    "code method host",
    "The operator's own requests to the API server, not those of runs; code `<error>`: there was no answer.",
    "Does the API server answer, and how much is it asked?",
)
MASTER = _gauge(
    "leader_election_master_status",
    "name",
    "1 while this process leads, else 0; only with `--leader-elect`.",
    "Which replica leads; does any?",
)

OBJECTS = _gauge(
    "ansible_operator_objects",
    f"{_KIND} condition",
    "Custom resources: those whose last reconcile has failed (Failure) or not (Successful), and those with a run "
    "under way (Running), which may be among the others too. After a start, each counts from its first run on.",
    "How many objects fail now?",
    live=True,
)
FAILING_SINCE = _gauge(
    "ansible_operator_object_failing_since_seconds",
    "name namespace group version kind",
    "When a custom resource began to fail, in Unix time, as far as this process knows; the 100 oldest only.",
    "Which objects fail now, and since when?",
    live=True,
)
OLDEST = _gauge(
    "ansible_operator_oldest_run_seconds",
    _KIND,
    "Age of the oldest run under way; 0 if there is none.",
    "Does a run hang?",
    live=True,
)
TASK_FAILURES = _counter(
    "ansible_operator_task_failures_total",
    f"{_KIND} action task",
    "Tasks that failed and were not ignored, rescued ones included, by module and place (file:line). "
    "After 200 combinations, further ones count as `other`.",
    "Which task of which role fails?",
)
RUNS = _histogram(
    "ansible_operator_run_seconds",
    "GVK result",
    "Seconds of an Ansible run, by result (succeeded, failed).",
    "How long does Ansible take?",
    RUN_BUCKETS,
)
ENGINES = _counter(
    "ansible_operator_runs_started_total",
    "GVK engine",
    "Runs that ended, by how they were started (warm, cold).",
    "Are runs warm?",
)
REASONS = _counter(
    "ansible_operator_runs_total",
    "group version kind trigger result",
    "Runs that ended, by the most urgent reason they had.",
    "Why do runs take place?",
)
PRUNED = _counter(
    "ansible_operator_objects_pruned_total",
    "GVK",
    "Dependents that were deleted because a run no longer produced them, by the kind of their owner.",
    "Does `prune` delete anything?",
)
PROXIED = _histogram(
    "ansible_operator_proxy_request_seconds",
    "method code",
    "Seconds of a run's API request, by method and answer.",
    "Is the API server slow for runs, or does it refuse?",
    GO_BUCKETS,
)
WATCHED = _gauge(
    "ansible_operator_watched_kinds",
    f"{_KIND} purpose state",
    "In how many namespaces (all of them count as one) a kind is in that state: starting, watching, waiting "
    "(interrupted), absent, forbidden. Its purpose: resource (of watches.yaml) or dependent.",
    "Which kinds are not watched, and why?",
    live=True,
)
RESTARTS = _gauge(
    "ansible_operator_reflector_restarts",
    "GVK namespace",
    "Times a list and watch had to begin anew.",
    "Is the connection to the API server steady?",
    live=True,
)
DISK = _gauge(
    "ansible_operator_runner_dir_bytes",
    "",
    "Bytes that runs have left on disk: artifacts, extra vars, playbooks (`--runner-dir-limit`).",
    "Is there room for the artifacts of runs?",
    live=True,
)
ZYGOTES = _gauge(
    "ansible_operator_zygotes",
    "",
    "Processes alive from which warm runs are forked: 2, or 0 where all runs are cold.",
    "Can runs be warm?",
    live=True,
)
ZYGOTE_STARTS = _counter(
    "ansible_operator_zygote_starts_total",
    "result",
    "Attempts to start the zygotes, by result (succeeded, failed); one is usual.",
    "Do zygotes die again and again?",
    live=True,
)
REVIEWS = _counter(
    "ansible_operator_admission_reviews_total",
    f"{_KIND} webhook result",
    "Answered reviews, by webhook (validate, default, convert) and result: allowed, denied, busy (told to "
    "come back), malformed, and where nobody could say, by failure policy: failed or unreviewed; of conversions "
    "unconverted, where a spec was left as it was.",
    "Are custom resources refused; does anything keep them from being reviewed?",
)
REVIEW_TIME = _histogram(
    "ansible_operator_admission_review_seconds",
    f"{_KIND} webhook",
    "Seconds until a review was answered.",
    "How long does whoever applies a custom resource wait for us?",
    GO_BUCKETS,
)

GROUPS = {
    "What fails, hangs or waits": (OBJECTS, FAILING_SINCE, OLDEST, TASK_FAILURES, WATCHED, RESTARTS),
    "Runs": (RUNS, ENGINES, REASONS, PRUNED, PROXIED, DISK, ZYGOTES, ZYGOTE_STARTS),
    "Admission": (REVIEWS, REVIEW_TIME),
    "Of the Go operator": (BUILD, RESULTS, RECONCILES, CREATED),
    "Of controller-runtime and client-go": (
        *(RECONCILE_TOTAL, RECONCILE_ERRORS, RECONCILE_TIME, ACTIVE, MOST_ACTIVE),
        *(DEPTH, ADDS, RETRIES, WAITED, WORKED, UNFINISHED, LONGEST),
        *(REQUESTS, MASTER),
    ),
}
FAMILIES = tuple(family for group in GROUPS.values() for family in group)
