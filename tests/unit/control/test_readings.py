"""What a scrape reads of the queue, the watches, the runs and the zygotes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import pytest

from runner.control.queue import Trigger, WorkQueue
from runner.control.readings import Readings
from runner.control.sources import Watching
from runner.families import FAMILIES
from runner.kube.reflector import Phase, Reflector
from runner.objects import GroupVersionKind, ObjectKey
from tests.fixtures.clock import FakeClock

THING, MAP = GroupVersionKind("example.com", "v1", "Thing"), GroupVersionKind("", "v1", "ConfigMap")
KEY = ObjectKey(THING, "ns", "first")
IDLE = {
    "controller_runtime_max_concurrent_reconciles": 4,
    "controller_runtime_active_workers": 0,
    "workqueue_depth": 0,
    "workqueue_adds_total": 0,
    "workqueue_retries_total": 0,
    "workqueue_unfinished_work_seconds": 0,
    "workqueue_longest_running_processor_seconds": 0,
    "ansible_operator_oldest_run_seconds": 0,
}


@dataclass
class FakeReflector:
    gvk: GroupVersionKind
    namespace: str
    phase: Phase
    restarts: int = 0


@dataclass
class FakeWatching(Watching):
    found: list[tuple[Reflector, bool, bool]] = field(default_factory=list)

    def reflectors(self) -> Iterator[tuple[Reflector, bool, bool]]:
        return iter(self.found)

    def add(self, gvk: GroupVersionKind, namespace: str, phase: Phase, *, resource: bool, dependent: bool) -> None:
        reflector = cast(Reflector, FakeReflector(gvk, namespace, phase, 2))
        self.found.append((reflector, resource, dependent))


@dataclass
class Scene:
    clock: FakeClock = field(default_factory=FakeClock)
    watching: FakeWatching = field(default_factory=FakeWatching)
    ages: dict[ObjectKey, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.queue = WorkQueue(self.clock, total=4)
        self.readings = Readings(
            {THING: 4},
            {THING: "thing-v1-controller"},
            self.queue,
            self.watching,
            ages=lambda: self.ages,
            disk=lambda: 4096,
            zygotes=lambda: 2,
            zygote_starts=lambda: {"succeeded": 1, "failed": 0},
        )

    def values(self) -> dict[tuple[str, tuple[str, ...]], float]:
        return {(family.name, labels): value for family, labels, value in self.readings()}

    def value(self, name: str) -> float:
        """Of the one series of that name."""
        (value,) = [value for (found, _), value in self.values().items() if found == name]
        return value


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_every_live_metric_of_a_kind_is_there_before_anything_happens(scene: Scene) -> None:
    assert {name: scene.value(name) for name in IDLE} == IDLE


def test_each_reading_has_a_value_for_each_label_of_a_live_metric(scene: Scene) -> None:
    scene.watching.add(THING, "", Phase.WATCHING, resource=True, dependent=False)
    live = {family.name for family in FAMILIES if family.live} - {"ansible_operator_object_failing_since_seconds"}
    found = {family.name: (family.labels, labels) for family, labels, _ in scene.readings()}
    assert found.keys() == live
    assert all(len(names) == len(labels) for names, labels in found.values())


def test_what_waits_and_what_came_in_is_counted(scene: Scene) -> None:
    scene.queue.add(KEY, Trigger.CREATED)
    scene.queue.add(KEY, Trigger.CHANGED)
    scene.queue.add(ObjectKey(THING, "ns", "later"), Trigger.PERIOD, after=60)
    assert (scene.value("workqueue_depth"), scene.value("workqueue_adds_total")) == (1, 1)
    scene.clock.advance(60)
    assert (scene.value("workqueue_depth"), scene.value("workqueue_adds_total")) == (2, 2)


def test_a_failure_put_back_is_a_retry_and_a_period_is_none(scene: Scene) -> None:
    scene.queue.retry(KEY, 1)
    scene.queue.add(ObjectKey(THING, "ns", "second"), Trigger.PERIOD, after=60)
    assert scene.value("workqueue_retries_total") == 1


async def test_the_requests_under_way_tell_for_how_long(scene: Scene) -> None:
    for name in ("first", "second"):
        scene.queue.add(ObjectKey(THING, "ns", name), Trigger.CREATED)
        await scene.queue.get()
        scene.clock.advance(10)
    assert scene.value("controller_runtime_active_workers") == 2
    assert scene.value("workqueue_unfinished_work_seconds") == 30
    assert scene.value("workqueue_longest_running_processor_seconds") == 20


def test_the_oldest_run_and_how_many_there_are(scene: Scene) -> None:
    scene.ages = {KEY: 5.0, ObjectKey(THING, "ns", "second"): 70.0}
    assert scene.value("ansible_operator_oldest_run_seconds") == 70
    assert scene.values()["ansible_operator_objects", ("example.com", "v1", "Thing", "Running")] == 2


def test_a_kind_is_counted_in_the_state_of_each_of_its_watches(scene: Scene) -> None:
    scene.watching.add(THING, "a", Phase.WATCHING, resource=True, dependent=False)
    scene.watching.add(THING, "b", Phase.FORBIDDEN, resource=True, dependent=True)
    states = {
        labels[-2:]: value
        for (name, labels), value in scene.values().items()
        if name == "ansible_operator_watched_kinds"
    }
    assert {pair for pair, value in states.items() if value} == {
        ("resource", "watching"),
        ("resource", "forbidden"),
        ("dependent", "forbidden"),
    }
    assert len(states) == 2 * len(Phase)


def test_a_kind_of_dependents_is_told_apart_from_custom_resources(scene: Scene) -> None:
    scene.watching.add(MAP, "", Phase.ABSENT, resource=False, dependent=True)
    name, kind = "ansible_operator_watched_kinds", ("", "v1", "ConfigMap")
    assert scene.values()[name, (*kind, "dependent", "absent")] == 1
    assert (name, (*kind, "resource", "absent")) not in scene.values()


def test_zygotes_are_counted_alive_and_by_their_starts(scene: Scene) -> None:
    assert scene.value("ansible_operator_zygotes") == 2
    assert scene.values()["ansible_operator_zygote_starts_total", ("succeeded",)] == 1
