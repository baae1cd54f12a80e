"""What is read of the runs that have left their files."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runner.execute.history import History, PastRun, events_of, named_in, places, shortest
from runner.execute.root import of_user
from runner.execute.rundir import RunDirectory
from runner.objects import GroupVersionKind, ObjectKey

SITE = GroupVersionKind("web.example.com", "v1", "Site")
NODE = GroupVersionKind("", "v1", "Node")
BLOG = ObjectKey(SITE, "shop", "blog")
BEGAN = datetime(2030, 1, 31, 9, tzinfo=UTC)


def leave(root: Path, ident: str, key: ObjectKey = BLOG, hours: int = 0, **more: Any) -> Path:
    """A run as an operator leaves it; one without a `result` has not ended."""
    directory = RunDirectory.of(root, key)
    artifacts = directory.artifacts / ident
    (artifacts / "job_events").mkdir(parents=True)
    directory.lock.touch()
    started = (BEGAN + timedelta(hours=hours)).isoformat()
    about = {"id": ident, "kind": key.gvk.kind, "namespace": key.namespace, "name": key.name, "started": started}
    (artifacts / "run.json").write_text(json.dumps({**about, **more}))
    return artifacts


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "runner"
    root.mkdir()
    return root


def idents(runs: list[PastRun]) -> list[str]:
    return [run.ident for run in runs]


def test_runs_of_all_objects_are_found_the_newest_first(root: Path) -> None:
    leave(root, "1", hours=1)
    leave(root, "2", ObjectKey(NODE, "", "first"), hours=3)
    leave(root, "3", ObjectKey(SITE, "artifacts", "artifacts"), hours=2)
    assert idents(History([root]).runs()) == ["2", "3", "1"]


def test_those_of_a_name_and_a_namespace_are_found_alone(root: Path) -> None:
    leave(root, "1")
    leave(root, "2", ObjectKey(SITE, "other", "blog"))
    leave(root, "3", ObjectKey(SITE, "shop", "wiki"))
    history = History([root])
    assert sorted(idents(history.runs("blog"))) == ["1", "2"]
    assert sorted(idents(history.runs("blog", "shop"))) == ["1"]


def test_a_run_is_as_its_file_says(root: Path) -> None:
    leave(root, "1", result="failed", seconds=1.5, tasks={"ok": 3}, failures=["no\x1b[2Jspace"], kept=20)
    (run,) = History([root]).runs()
    assert (run.object, run.result, run.seconds, run.count("ok"), run.kept) == (
        "Site shop/blog",
        "failed",
        1.5,
        3,
        20,
    )
    assert run.texts("failures") == ["no\\x1b[2Jspace"]


def test_a_run_without_an_end_is_running_while_somebody_holds_the_lock_of_its_object(root: Path) -> None:
    leave(root, "1", hours=1)
    leave(root, "2", hours=2)
    descriptor = os.open(RunDirectory.of(root, BLOG).lock, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert [run.result for run in History([root]).runs()] == ["running", "interrupted"]
    os.close(descriptor)
    assert [run.result for run in History([root]).runs()] == ["interrupted", "interrupted"]


def test_asking_whether_it_is_running_leaves_the_lock_free(root: Path) -> None:
    leave(root, "1")
    History([root]).runs()
    with RunDirectory.of(root, BLOG).lock.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '"x"', "{}", '{"started": 7}', '{"started": "2030-01-31"}', "[" * 100_000, "\xff"]
)
def test_a_file_that_is_not_whole_is_told_of_and_left_out(root: Path, text: str) -> None:
    leave(root, "1")
    (leave(root, "2") / "run.json").write_bytes(text.encode("latin-1"))
    history = History([root])
    assert idents(history.runs()) == ["1"]
    assert history.problems == [f"{root}/web.example.com/v1/Site/shop/blog/artifacts/2/run.json is not whole"]


def test_values_of_any_shape_are_no_trouble(root: Path) -> None:
    leave(root, "1", result=7, seconds="x", tasks=[1], failures="no", kept="20", because={"a": 1}, apiVersion=None)
    (run,) = History([root]).runs()
    found = (run.result, run.seconds, run.count("ok"), run.texts("failures"), run.kept, run.texts("because"))
    assert found == ("7", None, 0, [], 0, [])


def test_a_run_that_has_not_started_is_left_out_without_a_word(root: Path) -> None:
    (leave(root, "1") / "run.json").unlink()
    history = History([root])
    assert (history.runs(), history.problems) == ([], [])


def test_nothing_is_read_through_a_symlink_or_from_a_pipe(root: Path, tmp_path: Path) -> None:
    real = leave(tmp_path / "elsewhere", "1")
    leave(root, "2")
    artifacts = RunDirectory.of(root, BLOG).artifacts
    (artifacts / "latest").symlink_to(real)
    (artifacts / "3").mkdir()
    (artifacts / "3/run.json").symlink_to(real / "run.json")
    (artifacts / "4").mkdir()
    os.mkfifo(artifacts / "4/run.json")
    assert idents(History([root]).runs()) == ["2"]


def test_a_root_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    history = History([tmp_path / "nowhere"])
    assert (history.runs(), history.problems) == ([], [])


def test_a_run_is_found_by_the_beginning_of_its_id(root: Path) -> None:
    for ident, key in (("123", BLOG), ("124", ObjectKey(SITE, "shop", "wiki")), ("12", BLOG)):
        leave(root, ident, key)
    history = History([root])
    assert idents(history.identified("124")) == ["124"]
    assert sorted(idents(history.identified("1"))) == ["12", "123", "124"]
    assert idents(history.identified("12")) == ["12"]  # it is whole
    assert history.identified("9") == []


def test_events_come_in_order_without_what_cannot_be_read(root: Path) -> None:
    directory = leave(root, "1") / "job_events"
    uuid = "0c1b4a52-8f0e-4b57-9a53-8c1f0f0b6d3e"
    for number in (10, 9, 1):
        (directory / f"{number}-{uuid}.json").write_text(json.dumps({"counter": number}))
    (directory / f"2-{uuid}.json").write_text("{")
    (directory / f"{uuid}-partial.json").write_text("{}")
    (directory / f"3-{uuid}_7.json").write_text('{"counter": 3}')
    problems: list[str] = []
    assert [event["counter"] for event in events_of(directory.parent, problems)] == [1, 3, 9, 10]
    assert problems == [f"{directory}/2-{uuid}.json is not whole"]


def test_ids_are_cut_to_what_tells_them_apart() -> None:
    assert shortest(["1234567890", "9"])("1234567890") == "1234567"
    assert shortest(["1234567890", "1234567899"])("1234567890") == "1234567890"
    assert shortest([])("12345678") == "1234567"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["/tini", "--", "/usr/local/bin/ansible-operator", "run", "--runner-dir=/data"], "/data"),
        (["python3", "/usr/local/bin/ansible-operator", "run", "--runner-dir=/data"], "/data"),
        (["python3", "-m", "runner", "run", "--runner-dir", "/data", "--watch"], "/data"),
        (["python3", "ansible-operator", "run", "--runner-dir=a", "--runner-dir=b"], "b"),
        (["python3", "ansible-operator", "run", ""], "/usual"),
        (["python3", "ansible-operator", "runs", "--runner-dir=/data"], ""),
        (["vi", "--runner-dir=/data"], ""),
    ],
)
def test_an_operator_is_asked_for_its_directory_by_its_command_line(words: list[str], found: str) -> None:
    assert named_in(words, "/usual") == found


@pytest.mark.parametrize("runs_here", [True, False])
def test_roots_are_those_of_operators_that_run_here_or_the_usual_one(tmp_path: Path, *, runs_here: bool) -> None:
    usual, named = tmp_path / "usual", tmp_path / "work/named"
    usual.mkdir()
    named.mkdir(parents=True)
    process = tmp_path / "proc/17"
    process.mkdir(parents=True)
    (process / "cmdline").write_text(
        f"python3\0ansible-operator\0run{'' if runs_here else 's'}\0--runner-dir=named\0"
    )
    (process / "cwd").symlink_to(tmp_path / "work")
    (tmp_path / "proc/18").mkdir()
    assert places(usual, tmp_path / "proc")[:1] == [named if runs_here else usual]


def test_where_the_usual_root_is_not_there_it_is_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    own = of_user()
    own.mkdir(parents=True)
    assert places(tmp_path / "usual", tmp_path / "proc") == [own]
