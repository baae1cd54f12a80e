"""What runs left of custom resources that are gone: what is removed when an operator begins, and what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.control.leftovers import forget_gone
from runner.errors import ForbiddenError, KindAbsentError, KubeError, UnreachableError
from runner.execute.rundir import RunDirectory
from runner.objects import GroupVersionKind, ObjectKey
from tests.fixtures.fake_executor import FakeExecutor
from tests.fixtures.fake_objects import FakeObjects

APPLE = GroupVersionKind("fruit.example.com", "v1", "Apple")
ORCHARD = GroupVersionKind("fruit.example.com", "v1", "Orchard")
GONE = ObjectKey(APPLE, "north", "gone")
WATCHES = "/opt/ansible/watches.yaml"
STARTED = "2030-01-31T09:00:00.000Z"


class Scene:
    """Run directories, and an API server."""

    def __init__(self, root: Path) -> None:
        self.executor = FakeExecutor(root=root)
        self.objects = FakeObjects()
        self.listed: set[ObjectKey] = set()

    def has_run(self, key: ObjectKey, number: int = 1, **about: str) -> None:
        artifacts = RunDirectory.of(self.executor.root, key).artifacts / str(number)
        artifacts.mkdir(parents=True)
        ours = {"started": STARTED, "watches": WATCHES, "server": self.objects.server}
        (artifacts / "run.json").write_text(json.dumps({**ours, **about}))
        RunDirectory.of(self.executor.root, key).lock.touch()

    async def forgotten(self) -> list[ObjectKey]:
        """What an operator of Apples and Orchards removes as it begins."""
        await forget_gone(self.executor, self.objects, [APPLE, ORCHARD], lambda _gvk: self.listed, WATCHES)
        return sorted(self.executor.forgotten, key=str)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def test_the_runs_of_what_is_gone_are_forgotten(scene: Scene) -> None:
    of_cluster = ObjectKey(ORCHARD, "", "gone")
    scene.has_run(GONE)
    scene.has_run(GONE, number=2)
    scene.has_run(of_cluster)
    assert await scene.forgotten() == sorted([GONE, of_cluster], key=str)


async def test_what_is_listed_is_not_asked_for(scene: Scene) -> None:
    scene.has_run(GONE)
    scene.listed = {GONE}
    assert await scene.forgotten() == []
    assert scene.objects.calls == []


async def test_what_is_there_but_not_watched_keeps_its_runs(scene: Scene) -> None:
    scene.has_run(GONE)
    scene.objects.create(GONE)
    assert await scene.forgotten() == []


async def test_a_run_that_was_killed_before_it_said_anything_is_forgotten(scene: Scene) -> None:
    scene.has_run(GONE)
    next(RunDirectory.of(scene.executor.root, GONE).artifacts.rglob("run.json")).unlink()
    assert await scene.forgotten() == [GONE]


@pytest.mark.parametrize(
    "others", [{"watches": "/srv/another/watches.yaml"}, {"server": "https://another.example.com"}], ids=str
)
async def test_where_another_operator_has_run_nothing_is_forgotten(scene: Scene, others: dict[str, str]) -> None:
    scene.has_run(GONE)
    scene.has_run(GONE, number=2, **others)
    assert await scene.forgotten() == []


async def test_the_runs_of_a_kind_that_nobody_watches_stay(scene: Scene) -> None:
    scene.has_run(ObjectKey(GroupVersionKind("fruit.example.com", "v1", "Pear"), "north", "gone"))
    assert await scene.forgotten() == []


async def test_a_kind_that_is_gone_took_its_objects_with_it(scene: Scene) -> None:
    scene.has_run(GONE)
    answer(scene, KindAbsentError("no such kind"))
    assert await scene.forgotten() == [GONE]


@pytest.mark.parametrize(
    "error",
    [ForbiddenError(403, "Forbidden", "no"), UnreachableError("no answer")],
    ids=lambda e: type(e).__name__,
)
async def test_where_nobody_can_tell_the_runs_stay(scene: Scene, error: KubeError) -> None:
    scene.has_run(GONE)
    answer(scene, error)
    assert await scene.forgotten() == []


def answer(scene: Scene, error: KubeError) -> None:
    async def refuse(_call: str, _key: ObjectKey) -> None:
        raise error

    scene.objects.before = refuse
