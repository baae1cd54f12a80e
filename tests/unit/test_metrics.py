"""What the operator's metrics are called, which of them are there from the start, and how many they can become."""

from __future__ import annotations

import pytest

from runner.families import FAILING_SINCE, FAMILIES, OBJECTS, TASK_FAILURES
from runner.metrics import MOST_FAILING, MOST_TASKS, Metrics, controller_names
from runner.objects import GroupVersionKind, ObjectKey

ONE, OTHER = (GroupVersionKind(group, "v1", kind) for group, kind in (("one.io", "Thing"), ("other.io", "THING")))
KEY = ObjectKey(ONE, "ns", "first")


def samples(metrics: Metrics, name: str) -> list[dict[str, str]]:
    """The labels of all samples of that name."""
    return [
        sample.labels for family in metrics.registry.collect() for sample in family.samples if sample.name == name
    ]


def objects(metrics: Metrics, condition: str) -> float | None:
    labels = {"group": "one.io", "version": "v1", "kind": "Thing", "condition": condition}
    return metrics.registry.get_sample_value(OBJECTS.name, labels)


def test_a_controller_is_named_by_its_kind_and_version() -> None:
    assert controller_names([ONE]) == {ONE: "thing-v1-controller"}


def test_kinds_that_would_share_a_name_are_told_apart_by_their_group() -> None:
    assert controller_names([ONE, OTHER]) == {
        ONE: "thing-v1-one.io-controller",
        OTHER: "thing-v1-other.io-controller",
    }


def test_the_queues_of_kinds_that_would_share_a_name_are_two_series() -> None:
    metrics = Metrics([ONE, OTHER])
    metrics.worked(ONE, waited=1, seconds=0)
    metrics.worked(OTHER, waited=2, seconds=0)
    found = [
        metrics.registry.get_sample_value(
            "workqueue_queue_duration_seconds_sum", {"name": name, "controller": name}
        )
        for name in ("thing-v1-one.io-controller", "thing-v1-other.io-controller")
    ]
    assert found == [1, 2]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_has_a_meaning_and_a_question(family: object) -> None:
    assert str(getattr(family, "meaning", "")).endswith(".")
    assert str(getattr(family, "question", "")).endswith("?")


def test_every_family_is_on_the_registry_under_its_type() -> None:
    found = {
        family.name + ("_total" if family.type == "counter" else ""): family.type
        for family in Metrics().registry.collect()
    }
    assert {family.name: str(family.type) for family in FAMILIES}.items() <= found.items()


def test_what_a_watched_kind_can_count_is_there_from_the_start() -> None:
    metrics = Metrics([ONE])
    assert [labels["result"] for labels in samples(metrics, "controller_runtime_reconcile_total")] == [
        "success",
        "error",
        "requeue_after",
    ]
    assert objects(metrics, "Failure") == objects(metrics, "Successful") == 0


def test_an_object_fails_until_it_has_succeeded() -> None:
    metrics = Metrics([ONE])
    metrics.object_reconciled(KEY, succeeded=True)
    metrics.object_reconciled(KEY, succeeded=False)
    assert (objects(metrics, "Failure"), objects(metrics, "Successful")) == (1, 0)
    assert [labels["name"] for labels in samples(metrics, FAILING_SINCE.name)] == ["first"]
    metrics.object_reconciled(KEY, succeeded=True)
    assert (objects(metrics, "Failure"), objects(metrics, "Successful")) == (0, 1)
    assert samples(metrics, FAILING_SINCE.name) == []


def test_an_object_keeps_the_time_since_when_it_fails() -> None:
    metrics = Metrics([ONE])
    labels = {"name": "first", "namespace": "ns", "group": "one.io", "version": "v1", "kind": "Thing"}
    metrics.object_reconciled(KEY, succeeded=False)
    first = metrics.registry.get_sample_value(FAILING_SINCE.name, labels)
    metrics.object_reconciled(KEY, succeeded=False)
    assert metrics.registry.get_sample_value(FAILING_SINCE.name, labels) == first


def test_an_object_that_is_gone_is_not_counted() -> None:
    metrics = Metrics([ONE])
    for name in ("first", "second"):
        metrics.object_reconciled(ObjectKey(ONE, "ns", name), succeeded=False)
    metrics.gone(KEY)
    metrics.forget(ObjectKey(ONE, "ns", "second"))
    assert objects(metrics, "Failure") == 0


def test_of_many_failing_objects_all_are_counted_and_some_named() -> None:
    metrics = Metrics([ONE])
    for number in range(MOST_FAILING + 5):
        metrics.object_reconciled(ObjectKey(ONE, "ns", f"thing-{number}"), succeeded=False)
    assert objects(metrics, "Failure") == MOST_FAILING + 5
    named = samples(metrics, FAILING_SINCE.name)
    assert len(named) == MOST_FAILING
    assert named[0]["name"] == "thing-0"


def test_failed_tasks_are_counted_by_place_until_there_are_too_many_places() -> None:
    metrics = Metrics([ONE])
    for number in range(MOST_TASKS + 5):
        metrics.task_failed(ONE, "fail", f"main.yml:{number}")
    metrics.task_failed(ONE, "fail", "main.yml:0")
    kind = {"group": "one.io", "version": "v1", "kind": "Thing"}
    value = metrics.registry.get_sample_value
    assert value(TASK_FAILURES.name, {**kind, "action": "fail", "task": "main.yml:0"}) == 2
    assert value(TASK_FAILURES.name, {**kind, "action": "other", "task": "other"}) == 5
    assert len(samples(metrics, TASK_FAILURES.name)) == MOST_TASKS + 1


def test_what_is_read_live_is_read_at_each_scrape() -> None:
    metrics, age = Metrics(), [1.0]
    metrics.live(lambda: [(FAMILIES_BY_NAME["ansible_operator_oldest_run_seconds"], ("g", "v1", "K"), age[0])])
    labels = {"group": "g", "version": "v1", "kind": "K"}
    assert metrics.registry.get_sample_value("ansible_operator_oldest_run_seconds", labels) == 1
    age[0] = 2.0
    assert metrics.registry.get_sample_value("ansible_operator_oldest_run_seconds", labels) == 2


FAMILIES_BY_NAME = {family.name: family for family in FAMILIES}
