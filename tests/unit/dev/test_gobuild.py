from __future__ import annotations

from pathlib import Path

import pytest

from runner.dev import checksums, gobuild
from runner.dev.gobuild import build
from runner.dev.programs import CONTROL_PLANE, KWOK
from runner.dev.progress import lines_on
from runner.errors import BinariesError

# Stands in for Go: tells a version, "builds" by writing the file that follows -o, or fails.
FAKE_GO = """#!/bin/sh
if [ "$1" = env ]; then echo {version}; exit; fi
while [ "$1" != -o ]; do shift; done
[ -f go.mod ] && [ -w . ] || {{ echo "not in a module of its own"; exit 1; }}
{build}
"""
WRITE = 'echo "#!/bin/sh" >"$2" && chmod +x "$2"'


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "path"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    monkeypatch.setattr(gobuild, "POLL_SECONDS", 0.01)
    return directory


def put_go(path: Path, version: str = "go1.99.1", build: str = WRITE) -> None:
    (path / "go").write_text(FAKE_GO.format(version=version, build=build))
    (path / "go").chmod(0o755)


def build_quietly(programs: tuple[str, ...], directory: Path) -> None:
    with Path("/dev/null").open("w") as nowhere:
        build(programs, directory, lines_on(nowhere))


@pytest.mark.parametrize("programs", [CONTROL_PLANE, KWOK])
def test_every_wanted_program_is_there_after_a_build(
    tmp_path: Path, path: Path, programs: tuple[str, ...]
) -> None:
    put_go(path)

    build_quietly(programs, tmp_path / "cache")

    assert [name for name in programs if not (tmp_path / "cache" / name).is_file()] == []


def test_one_program_stands_for_the_whole_control_plane(tmp_path: Path, path: Path) -> None:
    put_go(path)

    build_quietly(CONTROL_PLANE, tmp_path / "cache")

    targets = {(tmp_path / "cache" / name).resolve() for name in CONTROL_PLANE}
    assert targets == {tmp_path / "cache" / "controlplane"}


def test_build_leaves_nothing_but_the_program_and_its_checksum_in_the_cache(tmp_path: Path, path: Path) -> None:
    put_go(path)

    build_quietly(KWOK, tmp_path / "cache")

    assert sorted(file.name for file in (tmp_path / "cache").iterdir()) == ["kwok", "kwok.sha256"]
    assert checksums.matches(tmp_path / "cache" / "kwok")


def test_build_without_go_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(BinariesError, match=r"no `go` on PATH; Go 1\.26 or newer"):
        build_quietly(KWOK, tmp_path / "cache")


def test_too_old_go_is_reported(tmp_path: Path, path: Path) -> None:
    put_go(path, version="go1.9.7")

    with pytest.raises(BinariesError, match=r"is go1\.9\.7; Go 1\.26 or newer"):
        build_quietly(KWOK, tmp_path / "cache")


def test_failed_build_says_how_its_output_ended(tmp_path: Path, path: Path) -> None:
    put_go(path, build="echo module not reachable >&2; exit 1")

    with pytest.raises(BinariesError, match="failed:\nmodule not reachable"):
        build_quietly(KWOK, tmp_path / "cache")


def test_failed_build_leaves_nothing_behind(tmp_path: Path, path: Path) -> None:
    put_go(path, build='echo half >"$2"; exit 1')

    with pytest.raises(BinariesError):
        build_quietly(KWOK, tmp_path / "cache")

    assert list((tmp_path / "cache").iterdir()) == []
