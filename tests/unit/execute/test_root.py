"""Where run directories are: never where another user could have put something that runs read."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from runner.errors import RunError
from runner.execute import root as module
from runner.execute.root import make_root, open_to_others, private_root
from runner.execute.rundir import RunDirectory, empty_directory
from runner.objects import GroupVersionKind, ObjectKey

KEY = ObjectKey(GroupVersionKind("cache.example.com", "v1", "Memcached"), "ns", "one")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the place of /tmp: everybody may make something in it."""
    place = tmp_path / "tmp"
    place.mkdir()
    place.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def belongs_to_another(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """Paths that are shown as another user's, which only root could make them."""
    others: set[Path] = set()
    lstat = Path.lstat

    def shown(path: Path) -> os.stat_result:
        status = lstat(path)
        return os.stat_result((*status[:4], 12345, *status[5:])) if path in others else status

    monkeypatch.setattr(Path, "lstat", shown)
    return others


def test_the_wanted_root_is_made_and_private_whatever_the_umask_is(place: Path) -> None:
    before = os.umask(0)
    try:
        root = private_root(place / "ansible-operator/runner")
    finally:
        os.umask(before)
    assert root == place / "ansible-operator/runner"
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert stat.S_IMODE(root.parent.stat().st_mode) == 0o755


def test_a_root_that_is_there_is_used_as_it_is(place: Path) -> None:
    (place / "ours").mkdir(mode=0o755)
    assert private_root(place / "ours") == place / "ours"


@pytest.mark.parametrize("whose", ["ansible-operator", "ansible-operator/runner"])
def test_another_root_is_made_where_somebody_else_was_first(
    place: Path, belongs_to_another: set[Path], whose: str
) -> None:
    wanted = place / "ansible-operator/runner"
    wanted.mkdir(parents=True)
    belongs_to_another.add(place / whose)
    assert private_root(wanted) == place / f"ansible-operator-{os.geteuid()}/runner"


def test_a_new_root_is_made_where_somebody_was_first_in_both_places(
    place: Path, belongs_to_another: set[Path]
) -> None:
    wanted, of_user = place / "ansible-operator/runner", place / f"ansible-operator-{os.geteuid()}"
    for directory in (wanted, of_user):
        directory.mkdir(parents=True)
        belongs_to_another.add(directory)
    root = private_root(wanted)
    assert root.parent == place
    assert root != of_user
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_a_root_that_others_may_write_to_is_not_used(place: Path) -> None:
    wanted = place / "ansible-operator/runner"
    wanted.mkdir(parents=True)
    wanted.parent.chmod(0o777)
    with pytest.raises(RunError, match=r"ansible-operator can be written by other users: name another"):
        make_root(wanted)


def test_a_root_that_is_a_mount_that_all_may_write_to_is_used(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As emptyDir is."""
    wanted = place / "volume"
    wanted.mkdir()
    wanted.chmod(0o777)
    monkeypatch.setattr(os.path, "ismount", wanted.__eq__)
    assert make_root(wanted) == wanted


def test_a_root_that_the_group_of_root_may_write_to_is_used(place: Path) -> None:
    """As in images that are to run as any user."""
    wanted = place / "runner"
    wanted.mkdir()
    wanted.chmod(0o775)
    os.chown(wanted, -1, os.getegid())
    assert make_root(wanted) == wanted


def test_a_root_that_is_a_symlink_of_ours_is_followed_once_and_for_all(place: Path) -> None:
    (place / "target").mkdir()
    (place / "link").symlink_to("target")
    assert make_root(place / "link/runner") == place / "target/runner"


def test_a_root_that_is_a_symlink_of_somebody_elses_is_not_used(
    place: Path, belongs_to_another: set[Path]
) -> None:
    (place / "target").mkdir()
    (place / "link").symlink_to("target")
    belongs_to_another.add(place / "link")
    with pytest.raises(RunError, match="link belongs to user 12345"):
        make_root(place / "link")


def test_a_root_that_leads_through_a_directory_of_somebody_elses_is_not_used(
    place: Path, belongs_to_another: set[Path]
) -> None:
    (place / "foreign/ours").mkdir(parents=True)
    (place / "link").symlink_to(place / "foreign/ours")
    belongs_to_another.add(place / "foreign")
    assert open_to_others(place / "link") == f"{place}/foreign belongs to user 12345"


def test_a_root_that_somebody_else_has_made_meanwhile_is_not_used_by_runs(
    place: Path, belongs_to_another: set[Path]
) -> None:
    directory = RunDirectory.of(place / "root", KEY)
    directory.make()
    belongs_to_another.add(place / "root")
    with pytest.raises(RunError, match="root belongs to user 12345"):
        directory.make()


def test_a_level_that_belongs_to_somebody_else_is_not_used(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = RunDirectory.of(place, KEY)
    directory.make()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setattr(module, "_trusted", lambda user: {0, user, os.getuid()})
    with pytest.raises(RunError, match=rf"cache\.example\.com belongs to user {os.getuid()}: remove it"):
        directory.make()


def test_an_empty_directory_holds_nothing_that_was_there(tmp_path: Path) -> None:
    there = tmp_path / "there"
    (there / "folder").mkdir(parents=True)
    (there / "ansible.cfg").touch()
    (there / "link").symlink_to(tmp_path)
    assert list(empty_directory(there).iterdir()) == []
    assert tmp_path.exists()
