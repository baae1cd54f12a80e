"""The names of controllers in metrics: the Go operator's, and never one for two kinds."""

from __future__ import annotations

from runner.metrics import Metrics, controller_names
from runner.objects import GroupVersionKind

ONE, OTHER = (GroupVersionKind(group, "v1", kind) for group, kind in (("one.io", "Thing"), ("other.io", "THING")))


def test_a_controller_is_named_by_its_kind_and_version() -> None:
    assert controller_names([ONE]) == {ONE: "thing-v1-controller"}


def test_kinds_that_would_share_a_name_are_told_apart_by_their_group() -> None:
    assert controller_names([ONE, OTHER]) == {
        ONE: "thing-v1-one.io-controller",
        OTHER: "thing-v1-other.io-controller",
    }


def test_the_queues_of_kinds_that_would_share_a_name_are_two_series() -> None:
    metrics = Metrics([ONE, OTHER])
    metrics.queue_depth(ONE, 1)
    metrics.queue_depth(OTHER, 2)
    found = [
        metrics.registry.get_sample_value("workqueue_depth", {"name": name, "controller": name})
        for name in ("thing-v1-one.io-controller", "thing-v1-other.io-controller")
    ]
    assert found == [1, 2]
