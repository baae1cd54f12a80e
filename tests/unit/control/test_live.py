"""Status that follows the children of a custom resource, without a run."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

import pytest

from runner.config.watches import Content, Watch
from runner.control.changes import OwnerWatch
from runner.control.live import LiveStatus, live
from runner.control.pause import PAUSED
from runner.errors import UnreachableError
from runner.kube.clock import Clock
from runner.kube.listwatch import Change, What
from runner.objects import GroupVersionKind, ObjectKey, parse_meta
from tests.fixtures.fake_objects import FakeObjects, Json
from tests.fixtures.waiting import until

POD_SET = GroupVersionKind("example.com", "v1", "PodSet")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
OWNER = ObjectKey(POD_SET, "one", "p")
CHILD = ObjectKey(DEPLOYMENT, "one", "d")
OWNER_WATCH = OwnerWatch(POD_SET, namespaced=True)
READY = "children[?kind=='Deployment'] | [0].status.readyReplicas"
WATCH = Watch(
    POD_SET,
    Content(Path("/roles/podset"), is_role=True),
    status={"ready": READY, "phase": "data.phase", "both": "children[0].x || data.y"},
)


class Scene:
    """A custom resource with a Deployment, and a clock whose waits end when the test says so."""

    def __init__(self, watch: Watch = WATCH) -> None:
        self.objects = FakeObjects()
        self.objects.create(OWNER, {})
        self.objects.create(CHILD, {})
        self.pauses: list[asyncio.Event] = []
        self.live = LiveStatus({POD_SET: watch}, self.objects, Clock(sleep=self._sleep))

    async def _sleep(self, seconds: float) -> None:
        assert 0.5 <= seconds <= 30
        self.pauses.append(asyncio.Event())
        await self.pauses[-1].wait()

    def child(self) -> Json:
        stored = self.objects.stored[CHILD]
        owner = {"apiVersion": "example.com/v1", "kind": "PodSet", "name": "p", "uid": "u"}
        stored["metadata"]["ownerReferences"] = [owner]
        return {"apiVersion": "apps/v1", "kind": "Deployment", **stored}

    def ready(self, number: int, *, told: bool = True) -> None:
        """The Deployment has so many ready replicas from now on."""
        stored = self.objects.stored[CHILD]
        stored.update(apiVersion="apps/v1", kind="Deployment", status={"readyReplicas": number})
        meta = stored["metadata"]
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)
        if told:
            self.tell()

    def tell(self) -> None:
        meta = parse_meta(self.child())
        self.live.look(Change(What.UPDATED, DEPLOYMENT, meta, meta), OWNER_WATCH)

    async def run_ended(self) -> tuple[Any, ...]:
        return await self.live.current(OWNER, (self.child(),))

    @property
    def status(self) -> Json:
        return dict(self.objects.stored[OWNER].get("status") or {})

    async def rested(self) -> None:
        """The pause after an evaluation is over, and what follows is done."""
        await until(lambda: bool(self.pauses))
        self.pauses.pop().set()
        await until(lambda: not self.live._evaluating or bool(self.pauses))


@pytest.fixture
async def scene() -> Scene:
    return Scene()


def test_what_asks_for_children_alone_is_live() -> None:
    assert dict(live(WATCH)) == {"ready": READY}


async def test_a_change_of_a_child_is_written(scene: Scene) -> None:
    await scene.run_ended()
    scene.ready(2)
    await until(lambda: scene.status == {"ready": 2})


async def test_conditions_and_what_others_wrote_stay(scene: Scene) -> None:
    scene.objects.stored[OWNER]["status"] = {"conditions": [{"type": "Running"}], "phase": "x"}
    await scene.run_ended()
    scene.ready(2)
    await until(lambda: scene.status.get("ready") == 2)
    assert scene.status == {"conditions": [{"type": "Running"}], "phase": "x", "ready": 2}


async def test_changes_within_a_second_are_one_write(scene: Scene) -> None:
    await scene.run_ended()
    scene.ready(1)
    await until(lambda: scene.status == {"ready": 1})
    scene.ready(2)
    scene.ready(3)
    await asyncio.sleep(0)
    assert scene.status == {"ready": 1}
    await scene.rested()
    assert scene.status == {"ready": 3}


async def test_a_value_that_is_there_already_is_not_written(scene: Scene) -> None:
    await scene.run_ended()
    scene.ready(1)
    await scene.rested()
    version = scene.objects.stored[OWNER]["metadata"]["resourceVersion"]
    scene.tell()
    await scene.rested()
    assert scene.objects.stored[OWNER]["metadata"]["resourceVersion"] == version


async def test_before_any_run_nothing_is_known_of_children(scene: Scene) -> None:
    scene.ready(1)
    assert not scene.live._evaluating


async def test_a_run_that_ends_is_given_what_has_changed_since_it_looked(scene: Scene) -> None:
    seen = copy.deepcopy(scene.child())
    scene.ready(3)
    (child,) = await scene.live.current(OWNER, (seen,))
    assert child["status"] == {"readyReplicas": 3}


async def test_what_has_not_changed_is_not_read_again(scene: Scene) -> None:
    scene.tell()
    seen = {**scene.child(), "of the run": True}
    assert await scene.live.current(OWNER, (seen,)) == (seen,)


async def test_what_changed_between_a_runs_end_and_its_status_is_corrected(scene: Scene) -> None:
    await scene.run_ended()
    scene.ready(3)
    await until(lambda: scene.status == {"ready": 3})
    scene.objects.stored[OWNER]["status"] = {"ready": 0}  # the run's own, from before
    scene.live.written(OWNER)
    await scene.rested()
    assert scene.status == {"ready": 3}


async def test_a_child_that_is_gone_counts_no_more(scene: Scene) -> None:
    await scene.run_ended()
    del scene.objects.stored[CHILD]
    scene.live.look(Change(What.GONE, DEPLOYMENT, parse_meta(child_of_owner()), None), OWNER_WATCH)
    await scene.rested()
    assert scene.status == {}


async def test_a_child_that_went_while_the_run_lasted_is_none(scene: Scene) -> None:
    seen = copy.deepcopy(scene.child())
    scene.live.look(Change(What.GONE, DEPLOYMENT, parse_meta(seen), None), OWNER_WATCH)
    del scene.objects.stored[CHILD]
    assert await scene.live.current(OWNER, (seen,)) == ()


async def test_a_paused_custom_resource_is_not_written(scene: Scene) -> None:
    scene.objects.stored[OWNER]["metadata"]["annotations"] = {PAUSED: "true"}
    await scene.run_ended()
    scene.ready(2)
    await scene.rested()
    assert scene.status == {}


async def test_a_custom_resource_that_is_gone_is_let_go(scene: Scene) -> None:
    await scene.run_ended()
    scene.live.forget(OWNER)
    scene.ready(1)
    assert not scene.live._evaluating


async def test_while_the_api_server_is_away_it_is_tried_again(scene: Scene) -> None:
    await scene.run_ended()
    away = [True, True]

    async def refuse(*_: object) -> None:
        if away:
            away.pop()
            raise UnreachableError("away")

    scene.objects.before = refuse
    scene.ready(2)
    await scene.rested()
    await scene.rested()
    await until(lambda: scene.status == {"ready": 2})


def child_of_owner() -> Json:
    owner = {"apiVersion": "example.com/v1", "kind": "PodSet", "name": "p", "uid": "u"}
    return {"metadata": {"name": "d", "namespace": "one", "uid": "x", "ownerReferences": [owner]}}
