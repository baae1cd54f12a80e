from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.dev import download, gobuild, programs
from runner.dev.programs import CONTROL_PLANE, KWOK, Search, cache_directory, find_programs
from runner.dev.progress import Progress
from runner.errors import BinariesError

EVERYTHING = (*CONTROL_PLANE, *KWOK)


@pytest.fixture(autouse=True)
def _empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(programs.ASSETS_VARIABLE, raising=False)
    monkeypatch.delenv(programs.MIRROR_VARIABLE, raising=False)
    monkeypatch.setattr(download, "download", _no_network)
    monkeypatch.setattr(gobuild, "build", _no_go)


def _no_network(programs: Sequence[str], directory: Path, mirror: str | None, progress: Progress) -> None:
    raise BinariesError("no network")


def _no_go(programs: Sequence[str], directory: Path, progress: Progress) -> None:
    raise BinariesError("no Go")


def _built(programs: Sequence[str], directory: Path, progress: Progress) -> None:
    put(directory, programs)


def put(directory: Path, names: Sequence[str] = EVERYTHING) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).touch(mode=0o755)
    return directory


def found_in(search: Search | None = None) -> set[Path]:
    programs = find_programs(search or Search())
    return {programs.path(name).parent for name in EVERYTHING}


def test_explicit_directory_comes_before_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(programs.ASSETS_VARIABLE, str(put(tmp_path / "assets")))
    put(tmp_path / "path")

    assert found_in(Search(explicit=put(tmp_path / "explicit"))) == {tmp_path / "explicit"}


def test_assets_directory_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(programs.ASSETS_VARIABLE, str(put(tmp_path / "assets")))
    put(tmp_path / "path")

    assert found_in() == {tmp_path / "assets"}


def test_path_comes_before_the_cache(tmp_path: Path) -> None:
    put(tmp_path / "path")
    put(cache_directory())

    assert found_in() == {tmp_path / "path"}


def test_cache_comes_before_the_network() -> None:
    put(cache_directory())

    assert found_in() == {cache_directory()}


def test_download_comes_before_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    def downloaded(programs: Sequence[str], directory: Path, mirror: str | None, progress: Progress) -> None:
        put(directory, programs)

    monkeypatch.setattr(download, "download", downloaded)

    assert found_in() == {cache_directory()}


def test_build_follows_a_failed_download(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gobuild, "build", _built)

    assert found_in() == {cache_directory()}


def test_programs_that_belong_together_are_not_mixed(tmp_path: Path) -> None:
    put(tmp_path / "path", ["etcd", "kube-apiserver", "kwok"])
    put(cache_directory())

    programs = find_programs()

    assert programs.path("kube-apiserver").parent == cache_directory()
    assert programs.path("kwok").parent == tmp_path / "path"


def test_file_that_cannot_be_executed_is_no_program(tmp_path: Path) -> None:
    put(tmp_path / "path")
    (tmp_path / "path" / "etcd").chmod(0o644)
    put(cache_directory())

    assert find_programs().path("etcd").parent == cache_directory()


def test_error_lists_every_place_and_why_it_had_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(programs.ASSETS_VARIABLE, str(put(tmp_path / "assets", ["etcd", "kube-apiserver"])))

    with pytest.raises(BinariesError) as raised:
        find_programs()

    tried = [line.strip() for line in str(raised.value).splitlines() if line.startswith("  ")]
    everything = ", ".join(CONTROL_PLANE)
    assert tried == [
        f"KUBEBUILDER_ASSETS ({tmp_path / 'assets'}): no kube-controller-manager, kube-scheduler",
        f"PATH: no {everything}",
        f"cache ({cache_directory()}): no {everything}",
        "download: no network",
        "go build: no Go",
    ]


def test_explicit_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    put(cache_directory())

    with pytest.raises(BinariesError, match="no such directory"):
        find_programs(Search(explicit=tmp_path / "nowhere"))


def test_programs_are_not_obtained_when_that_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gobuild, "build", _built)

    with pytest.raises(BinariesError, match="no place has"):
        find_programs(Search(obtain=False))


def test_programs_that_somebody_else_obtained_meanwhile_are_not_obtained_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def locked_after_somebody_else(file: Path) -> Iterator[None]:
        put(cache_directory())
        yield

    monkeypatch.setattr(programs, "locked_file", locked_after_somebody_else)

    assert found_in() == {cache_directory()}
