"""Run directories: where they are, that they are private, and how they go away."""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.errors import RunError
from runner.execute.rundir import LOCK, RunDirectory, forget, locked, remove_tree, write_private
from runner.objects import GroupVersionKind, ObjectKey


def key(name: str = "one", namespace: str = "ns", group: str = "cache.example.com") -> ObjectKey:
    return ObjectKey(GroupVersionKind(group, "v1", "Memcached"), namespace, name)


@pytest.mark.parametrize(
    ("of", "path"),
    [
        (key(), "cache.example.com/v1/Memcached/ns/one"),
        (key(namespace=""), "cache.example.com/v1/Memcached/one"),
        (key(group=""), "v1/Memcached/ns/one"),
        (key("a.b.c"), "cache.example.com/v1/Memcached/ns/a.b.c"),
    ],
)
def test_the_run_directory_is_named_after_the_object(tmp_path: Path, of: ObjectKey, path: str) -> None:
    assert RunDirectory.of(tmp_path, of).path == tmp_path / path


def test_the_longest_name_there_is_can_be_used(tmp_path: Path) -> None:
    directory = RunDirectory.of(tmp_path, key("x" * 253))
    directory.make()

    assert directory.path.is_dir()


@pytest.mark.parametrize("name", ["..", ".", "a/b", "../../etc", "a\0b", "", "x" * 256])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunError):
        RunDirectory.of(tmp_path, key(name))


def test_a_namespace_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        RunDirectory.of(tmp_path, key(namespace=".."))


def test_every_level_of_a_run_directory_is_private_even_one_that_was_not(tmp_path: Path) -> None:
    directory = RunDirectory.of(tmp_path, key())
    directory.path.mkdir(mode=0o755, parents=True)
    directory.make()

    assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
    assert stat.S_IMODE(directory.path.parent.stat().st_mode) == 0o700


def test_a_symlink_in_the_place_of_a_level_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "ns" / "one").mkdir(parents=True)
    directory = RunDirectory.of(tmp_path / "root", key())
    directory.path.parents[2].mkdir(parents=True)
    directory.path.parents[1].symlink_to(elsewhere)

    with pytest.raises(RunError, match="cannot make the run directory"):
        directory.make()
    with pytest.raises(OSError, match="is a symlink"):
        directory.remove()
    assert (elsewhere / "ns" / "one").is_dir()


def test_removing_a_run_directory_follows_no_symlink_out_of_it(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    directory = RunDirectory.of(tmp_path / "root", key())
    directory.make()
    (directory.path / "link").symlink_to(precious)
    directory.remove()

    assert not directory.path.exists()
    assert (precious / "file").exists()


def test_removing_a_run_directory_takes_the_parents_that_it_empties_but_not_the_root(tmp_path: Path) -> None:
    directory = RunDirectory.of(tmp_path, key())
    directory.make()
    directory.remove()

    assert list(tmp_path.iterdir()) == []


def test_removing_a_run_directory_leaves_its_neighbours(tmp_path: Path) -> None:
    one, two = (RunDirectory.of(tmp_path, key(name)) for name in ("one", "two"))
    one.make()
    two.make()
    one.remove()

    assert two.path.is_dir()


def test_the_lock_of_a_run_directory_goes_last_so_that_a_removal_that_was_cut_short_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[str] = []
    unlink = os.unlink

    def told(path: Path | str, **more: int) -> None:
        removed.append(Path(path).name)
        unlink(path, **more)

    monkeypatch.setattr(os, "unlink", told)
    directory = RunDirectory.of(tmp_path, key())
    directory.artifacts.mkdir(parents=True)
    for path in (directory.lock, directory.kubeconfig, directory.path / "hosts", directory.artifacts / "rc"):
        path.touch()
    directory.remove()
    assert removed[-1] == LOCK
    assert sorted(removed) == [LOCK, "hosts", "kubeconfig", "rc"]


def test_however_deep_a_role_went_its_run_directory_is_removed(tmp_path: Path) -> None:
    directory = RunDirectory.of(tmp_path, key())
    directory.make()
    directory.make_temporary()
    for place in (directory.path, directory.temporary):
        before = os.open(place, os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("d", dir_fd=before)
            inner = os.open("d", os.O_RDONLY, dir_fd=before)
            os.close(before)
            before = inner
        os.close(before)
    directory.remove()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_removed_through_a_symlink_in_a_directory_of_a_role(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    (precious / "inner").mkdir(parents=True)
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "link").symlink_to(precious)
    (top / "a" / "b" / "link").symlink_to(precious / "inner")
    remove_tree(top)
    assert [path.name for path in tmp_path.rglob("*")] == ["precious", "inner"]


def test_what_cannot_be_removed_keeps_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = RunDirectory.of(tmp_path, key())
    directory.make_temporary()
    unlink = os.unlink

    def unless_stuck(path: Path | str) -> None:
        if Path(path).name == "stuck":
            raise PermissionError(1, "Operation not permitted")
        unlink(path)

    monkeypatch.setattr(os, "unlink", unless_stuck)
    for name in ("a", "stuck", "z", "deep/a", "deep/stuck", "deep/z"):
        file = directory.temporary / "of-a-role" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    directory.clear_temporary()
    assert {path.name for path in directory.temporary.rglob("*") if path.is_file()} == {"stuck"}
    with pytest.raises(PermissionError, match="Operation not permitted"):
        remove_tree(directory.temporary)


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A place of a user who is not root, as whom the test goes on."""
    user = os.geteuid() or 12345
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, user, -1)
        before = os.geteuid()
        os.seteuid(user)
        yield Path(name)
        os.seteuid(before)


def test_an_empty_directory_that_is_read_only_is_removed_wherever_it_is(unprivileged: Path) -> None:
    sealed = unprivileged / "top" / "inner" / "sealed"
    sealed.mkdir(parents=True)
    sealed.chmod(0o500)
    remove_tree(unprivileged / "top")
    assert list(unprivileged.iterdir()) == []


async def test_what_is_to_be_forgotten_is_judged_when_nobody_runs_in_it(tmp_path: Path) -> None:
    directory = RunDirectory.of(tmp_path, key())
    directory.make()
    running = await locked(directory.lock)
    judged = []

    async def judge() -> bool:
        judged.append(directory.path.exists())
        return len(judged) > 1

    forgetting = asyncio.create_task(forget(directory, judge))
    await asyncio.sleep(0)
    assert judged == []
    os.close(running)
    await forgetting
    assert judged == [True]
    await forget(directory, judge)
    assert not directory.path.exists()


async def test_a_removal_that_is_cancelled_is_over_before_another_may_run_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = RunDirectory.of(tmp_path, key())
    directory.make()
    begun, go_on = threading.Event(), threading.Event()
    remove = RunDirectory.remove

    def slowly(self: RunDirectory) -> None:
        begun.set()
        assert go_on.wait(30)
        remove(self)

    monkeypatch.setattr(RunDirectory, "remove", slowly)
    forgetting = asyncio.create_task(forget(directory))
    await asyncio.to_thread(begun.wait, 30)
    forgetting.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not forgetting.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await forgetting
    assert not directory.path.exists()


def test_removing_a_run_directory_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    RunDirectory.of(tmp_path, key()).remove()

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_readable_for_others_is_not_any_more(tmp_path: Path) -> None:
    file = tmp_path / "extravars"
    file.write_text("a longer text than the new one")
    file.chmod(0o644)
    write_private(file, "new")

    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_temporary_files_of_a_run_go_with_it_but_discovery_stays_for_the_next(tmp_path: Path) -> None:
    directory = RunDirectory.of(tmp_path, key())
    directory.make_temporary()
    (directory.temporary / "k8srcp-0123.json").write_text("{}")
    (directory.temporary / "left").write_text("over")
    (directory.temporary / "folder").mkdir()
    (directory.temporary / "folder" / "file").write_text("over")
    directory.clear_temporary()
    assert [path.name for path in directory.temporary.iterdir()] == ["k8srcp-0123.json"]


def test_temporary_files_are_gone_with_the_object(tmp_path: Path) -> None:
    directory = RunDirectory.of(tmp_path, key())
    directory.make()
    directory.make_temporary()
    (directory.temporary / "k8srcp-0123.json").write_text("{}")
    directory.remove()
    assert not directory.temporary.exists()


def test_the_temporary_directory_has_a_short_path_whatever_the_name(tmp_path: Path) -> None:
    longest = key("x" * 253, "n" * 63)
    assert len(str(RunDirectory.of(tmp_path, longest).temporary.relative_to(tmp_path))) < 30
