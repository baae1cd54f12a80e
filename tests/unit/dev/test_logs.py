from __future__ import annotations

from itertools import islice
from pathlib import Path

from runner.dev import cli
from runner.dev.cli import added_lines


def test_last_lines_of_one_log_stand_alone(tmp_path: Path) -> None:
    (tmp_path / "etcd.log").write_text("one\ntwo\nthree\n")

    assert list(cli.read({"etcd": tmp_path / "etcd.log"}, 2, follow=False)) == ["two", "three"]


def test_lines_of_several_logs_begin_with_the_component(tmp_path: Path) -> None:
    (tmp_path / "etcd.log").write_text("one\n")
    (tmp_path / "kube-apiserver.log").write_text("two\n")
    files = {name: tmp_path / f"{name}.log" for name in ("etcd", "kube-apiserver")}

    assert list(cli.read(files, 5, follow=False)) == ["etcd            one", "kube-apiserver  two"]


def test_log_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert list(cli.read({"etcd": tmp_path / "etcd.log"}, 5, follow=False)) == []


def test_following_goes_on_where_the_log_grows(tmp_path: Path) -> None:
    file = tmp_path / "etcd.log"
    file.write_text("one\n")
    lines = cli.read({"etcd": file}, 5, follow=True)
    assert next(lines) == "one"

    with file.open("a") as opened:
        opened.write("two\nthree\n")

    assert list(islice(lines, 2)) == ["two", "three"]


def test_half_a_line_is_held_back_until_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "etcd.log"
    file.write_text("one\ntw")

    assert added_lines(file, 0) == (["one"], 4)


def test_log_that_began_anew_is_read_from_its_start(tmp_path: Path) -> None:
    file = tmp_path / "etcd.log"
    file.write_text("new\n")

    assert added_lines(file, 400) == (["new"], 4)
