"""What runs left of custom resources that are gone: what is removed when an operator begins, and what is not."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from runner.control.leftovers import Leftovers
from runner.errors import ForbiddenError, KindAbsentError, KubeError, UnreachableError
from runner.execute.rundir import RunDirectory
from runner.objects import GroupVersionKind, ObjectKey
from tests.fixtures.fake_executor import FakeExecutor
from tests.fixtures.fake_objects import FakeObjects

APPLE = GroupVersionKind("fruit.example.com", "v1", "Apple")
ORCHARD = GroupVersionKind("fruit.example.com", "v1", "Orchard")
GONE = ObjectKey(APPLE, "north", "gone")
WATCHES = "/opt/ansible/watches.yaml"
OnlyIf = Callable[[], Awaitable[bool]] | None
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
        await Leftovers(self.executor, self.objects, WATCHES).forget_gone(
            [APPLE, ORCHARD], lambda _gvk: self.listed
        )
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


async def test_bytes_that_earlier_operators_left_of_what_is_listed_are_counted(scene: Scene) -> None:
    scene.has_run(GONE)
    scene.listed = {GONE}
    await scene.forgotten()
    assert scene.executor.measured == [GONE, GONE]  # for each kind


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


async def test_what_cannot_be_read_may_be_somebody_elses(scene: Scene) -> None:
    scene.has_run(GONE)
    next(RunDirectory.of(scene.executor.root, GONE).artifacts.rglob("run.json")).write_text("{")
    assert await scene.forgotten() == []


async def test_a_run_of_another_operator_that_begins_meanwhile_keeps_its_directory(scene: Scene) -> None:
    scene.has_run(GONE)
    forget = scene.executor.forget

    async def after_another(key: ObjectKey, only_if: OnlyIf = None) -> None:
        scene.has_run(key, number=2, server="https://another.example.com")
        await forget(key, only_if)

    scene.executor.forget = after_another  # type: ignore[method-assign]
    assert await scene.forgotten() == []


async def test_one_that_cannot_be_removed_keeps_neither_the_others_nor_the_operator(scene: Scene) -> None:
    scene.has_run(ObjectKey(APPLE, "north", "broken"))
    scene.has_run(GONE)
    forget = scene.executor.forget

    async def breaks(key: ObjectKey, only_if: OnlyIf = None) -> None:
        if key.name == "broken":
            raise RuntimeError("can't start new thread")
        await forget(key, only_if)

    scene.executor.forget = breaks  # type: ignore[method-assign]
    with capture_logs() as logs:
        assert await scene.forgotten() == [GONE]
    assert [record["key"] for record in logs if record["log_level"] == "error"] == ["Apple north/broken"]


@pytest.mark.parametrize(
    "error",
    [ForbiddenError(403, "Forbidden", "no"), UnreachableError("no answer"), KindAbsentError("not served")],
    ids=repr,
)
async def test_where_nobody_can_tell_the_runs_stay(scene: Scene, error: KubeError) -> None:
    scene.has_run(GONE)
    answer(scene, error)
    assert await scene.forgotten() == []


def answer(scene: Scene, error: KubeError) -> None:
    async def refuse(_call: str, _key: ObjectKey) -> None:
        raise error

    scene.objects.before = refuse
