"""When a value that `reconcileOn` yields of a dependent has changed, its owner is reconciled."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runner.config.watches import Content, Watch
from runner.control.changes import OwnerWatch
from runner.control.observed import TRIES, Observed, digest
from runner.control.queue import WorkQueue
from runner.control.request import Trigger
from runner.errors import NotFoundError, UnreachableError
from runner.kube.listwatch import Change, What
from runner.objects import GroupVersionKind, ObjectKey, ObjectMeta, parse_meta
from tests.fixtures.clock import FakeClock

BUILD = GroupVersionKind("example.com", "v1", "Build")
JOB = GroupVersionKind("batch", "v1", "Job")
OWNER = ObjectKey(BUILD, "one", "b")
OWNER_WATCH = OwnerWatch(BUILD, namespaced=True)
EXPRESSION = "status.conditions[?status=='True'].type"
WATCH = Watch(BUILD, Content(Path("/roles/build"), is_role=True), reconcile_on={JOB: EXPRESSION})


def job(version: int = 1, *conditions: str, uid: str = "u1", active: int = 0) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "j",
            "namespace": "one",
            "uid": uid,
            "resourceVersion": str(version),
            "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Build", "name": "b", "uid": "ub"}],
        },
        "status": {"active": active, "conditions": [{"type": name, "status": "True"} for name in conditions]},
    }


class Objects:
    """What the API server has; each read takes one turn of the loop."""

    def __init__(self) -> None:
        self.body: dict[str, Any] | None = None
        self.failures: list[Exception] = []
        self.reads = 0

    async def get(self, key: ObjectKey) -> Mapping[str, Any]:
        assert (key.namespace, key.name) == ("one", "j")
        self.reads += 1
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        if self.body is None:
            raise NotFoundError(404, "NotFound", "gone")
        return self.body


class Scene:
    def __init__(self) -> None:
        self.objects = Objects()
        self.clock = FakeClock()
        self.queue = WorkQueue(asyncio.get_running_loop(), total=1)
        self.observed = Observed({BUILD: WATCH}, self.objects, self.queue, self.clock.clock())  # type: ignore[arg-type]

    async def becomes(self, body: dict[str, Any] | None, old: dict[str, Any] | None = None) -> bool:
        """Whether the owner is reconciled because the dependent is like that now."""
        self.objects.body = body
        what = What.GONE if body is None else What.UPDATED if old else What.ADDED
        self.observed.look(Change(what, JOB, _meta(old), _meta(body)), OWNER_WATCH)
        return await self.enqueued()

    async def enqueued(self) -> bool:
        await asyncio.gather(*self.observed._reading.values())  # the only way to know that nothing will come
        if not len(self.queue):
            return False
        request = await self.queue.get()
        assert request is not None
        self.queue.done(request.key)
        assert (request.key, request.triggers) == (OWNER, frozenset({Trigger.DEPENDENT_STATUS}))
        return True


def _meta(body: dict[str, Any] | None) -> ObjectMeta | None:
    return None if body is None else parse_meta(body)


@pytest.fixture
async def scene() -> Scene:
    return Scene()


async def test_a_changed_value_reconciles_the_owner_once(scene: Scene) -> None:
    assert not await scene.becomes(job(1))
    assert await scene.becomes(job(2, "Complete"), job(1))
    assert not await scene.becomes(job(3, "Complete"), job(2))


async def test_another_change_of_the_status_does_not(scene: Scene) -> None:
    assert not await scene.becomes(job(1))
    assert not await scene.becomes(job(2, active=1), job(1))


async def test_what_a_run_has_seen_is_no_news(scene: Scene) -> None:
    scene.observed.saw(WATCH, [job(2, "Complete")])
    assert not await scene.becomes(job(2, "Complete"), job(1))
    assert await scene.becomes(job(3, "Complete", "Failed"), job(2))


async def test_a_value_that_nobody_has_seen_is_news_unless_it_is_nothing(scene: Scene) -> None:
    assert await scene.becomes(job(7, "Complete"))


async def test_what_was_so_at_the_start_is_no_news(scene: Scene) -> None:
    scene.objects.body = job(7, "Complete")
    scene.observed.look(Change(What.ADDED, JOB, None, parse_meta(job(7)), listed=True), OWNER_WATCH)
    assert not await scene.enqueued()
    assert await scene.becomes(job(8, "Complete", "Failed"), job(7))


async def test_what_changed_while_the_operator_started_is_news(scene: Scene) -> None:
    scene.objects.body = job(8, "Complete")
    scene.observed.look(Change(What.ADDED, JOB, None, parse_meta(job(7)), listed=True), OWNER_WATCH)
    assert await scene.enqueued()


async def test_changes_that_come_while_it_is_read_lead_to_one_more_read(scene: Scene) -> None:
    for version in range(1, 6):
        change = Change(What.UPDATED, JOB, parse_meta(job(version)), parse_meta(job(version + 1)))
        scene.objects.body = job(version + 1)
        scene.observed.look(change, OWNER_WATCH)
    await scene.enqueued()
    assert scene.objects.reads == 1
    scene.observed.look(change, OWNER_WATCH)
    await asyncio.sleep(0)  # the read begins
    await asyncio.sleep(0)
    scene.observed.look(change, OWNER_WATCH)
    scene.observed.look(change, OWNER_WATCH)
    await scene.enqueued()
    assert scene.objects.reads == 3


async def test_one_made_anew_under_its_name_is_looked_at_by_its_own_change(scene: Scene) -> None:
    scene.objects.body = job(9, "Complete", uid="u2")
    scene.observed.look(Change(What.ADDED, JOB, None, parse_meta(job(1))), OWNER_WATCH)
    assert not await scene.enqueued()


async def test_one_that_is_gone_is_forgotten(scene: Scene) -> None:
    await scene.becomes(job(1, "Complete"))
    assert not await scene.becomes(None, job(1, "Complete"))
    assert scene.observed._values == {}


async def test_one_that_vanishes_before_it_is_read_asks_for_nothing(scene: Scene) -> None:
    scene.observed.look(Change(What.ADDED, JOB, None, parse_meta(job(1))), OWNER_WATCH)
    assert not await scene.enqueued()


async def test_a_read_is_tried_again_while_the_api_server_is_away(scene: Scene) -> None:
    scene.objects.failures = [UnreachableError("away")] * TRIES
    assert await scene.becomes(job(1, "Complete"))


async def test_a_read_that_fails_for_long_leaves_the_owner_to_its_period(scene: Scene) -> None:
    scene.objects.failures = [UnreachableError("away")] * (TRIES + 1)
    assert not await scene.becomes(job(1, "Complete"))
    assert await scene.becomes(job(2, "Complete"), job(1))


async def test_a_kind_that_nobody_asked_about_is_not_read(scene: Scene) -> None:
    pod = GroupVersionKind("", "v1", "Pod")
    scene.observed.look(Change(What.ADDED, pod, None, parse_meta(job(1))), OWNER_WATCH)
    assert scene.objects.reads == 0


async def test_one_without_an_owner_of_that_kind_is_not_read(scene: Scene) -> None:
    orphan = job(1)
    orphan["metadata"]["ownerReferences"] = []
    scene.observed.look(Change(What.ADDED, JOB, None, parse_meta(orphan)), OWNER_WATCH)
    assert scene.objects.reads == 0


@pytest.mark.parametrize("status", [{}, {"conditions": None}, {"conditions": []}])
def test_nothing_none_and_empty_are_the_same(status: dict[str, Any]) -> None:
    assert digest("status.conditions", {"status": status}) == digest("status.conditions", {})


def test_a_list_of_nothing_is_nothing() -> None:
    assert digest("[status.active, status.done]", {"status": {}}) == digest("status.done", {})


def test_an_expression_that_cannot_be_evaluated_yields_nothing() -> None:
    assert digest("length(status)", {"status": 7}) == digest("status", {})
