from __future__ import annotations

import subprocess
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


def _obtained(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Have a build put new programs into the cache; returns which were asked for."""
    asked: list[Sequence[str]] = []

    def build(programs: Sequence[str], directory: Path, progress: Progress) -> None:
        asked.append(programs)
        put(directory, programs)

    monkeypatch.setattr(gobuild, "build", build)
    return asked


def test_a_program_of_the_cache_that_was_exchanged_is_not_used_but_obtained_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(cache_directory())
    found_in()
    (cache_directory() / "etcd").write_text("another program")
    asked = _obtained(monkeypatch)

    assert found_in() == {cache_directory()}

    assert asked == [CONTROL_PLANE]
    assert (cache_directory() / "etcd").read_text() == ""
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"{cache_directory() / 'etcd'} is not what was downloaded or built: its SHA-256 differs" in told


def test_a_program_that_is_exchanged_by_a_link_is_obtained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cache_directory())
    found_in()
    foreign = tmp_path / "foreign"
    foreign.write_text("#!/bin/sh\n")
    foreign.chmod(0o755)
    (cache_directory() / "kwok").unlink()
    (cache_directory() / "kwok").symlink_to(foreign)
    asked = _obtained(monkeypatch)

    found_in()

    assert (asked, foreign.exists()) == ([KWOK], True)
    assert not (cache_directory() / "kwok").is_symlink()


def test_an_exchanged_program_is_kept_where_nothing_may_be_obtained() -> None:
    put(cache_directory())
    found_in()
    (cache_directory() / "kwok").write_text("another program")

    with pytest.raises(BinariesError, match="no kwok"):
        find_programs(Search(obtain=False))

    assert (cache_directory() / "kwok").exists()


def test_the_recorded_checksums_can_be_checked_with_sha256sum() -> None:
    put(cache_directory())
    found_in()

    records = sorted(file.name for file in cache_directory().glob("*.sha256"))
    ended = subprocess.run(
        ["/usr/bin/sha256sum", "--check", "--strict", *records], cwd=cache_directory(), check=False
    )

    assert records == sorted(f"{name}.sha256" for name in EVERYTHING)
    assert ended.returncode == 0


def test_programs_of_a_given_directory_are_not_checked(tmp_path: Path) -> None:
    given = put(tmp_path / "explicit")
    (given / "etcd.sha256").write_text(f"{'0' * 64}  etcd\n")

    assert found_in(Search(explicit=given)) == {given}
