from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.dev import checksums, gobuild
from runner.dev.gobuild import build
from runner.dev.programs import CONTROL_PLANE, KWOK
from runner.dev.progress import BYTES, PACKAGES, Advance, Unit, lines_on
from runner.errors import BinariesError

# Stands in for Go: tells a version, lists two packages, and "builds" by writing the file that follows -o.
FAKE_GO = """#!/bin/sh
if [ "$1" = env ]; then echo {version}; exit; fi
echo "$*" >>"{calls}"
[ -f go.mod ] && [ -w . ] || {{ echo "not in a module of its own" >&2; exit 1; }}
if [ "$1" = list ]; then {listing}; exit; fi
while [ "$1" != -o ]; do shift; done
{build}
"""
LIST = "echo fmt; echo os"
WRITE = 'echo "#!/bin/sh" >"$2" && chmod +x "$2"'


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of Go and kubectl; no other on the PATH has one."""
    directory = tmp_path / "path"
    directory.mkdir()
    for name in ("sh", "chmod"):
        (directory / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.setattr(gobuild, "POLL_SECONDS", 0.01)
    return directory


def put_go(path: Path, version: str = "go1.99.1", build: str = WRITE, listing: str = LIST) -> None:
    text = FAKE_GO.format(version=version, build=build, listing=listing, calls=path / "calls")
    put_program(path / "go", text)


def put_program(file: Path, text: str = "#!/bin/sh\n") -> None:
    file.write_text(text)
    file.chmod(0o755)


def calls(path: Path) -> list[str]:
    """The command lines of Go, but for the question for its version."""
    return (path / "calls").read_text().splitlines()


def build_quietly(programs: tuple[str, ...], directory: Path) -> None:
    build(programs, directory, lines_on(io.StringIO()))


class Amounts:
    """A progress display that keeps what it would show."""

    def __init__(self) -> None:
        self.shown: list[tuple[int | None, Unit]] = []
        self.done = 0

    @contextmanager
    def __call__(self, label: str, total: int | None, unit: Unit = BYTES) -> Iterator[Advance]:
        self.shown.append((total, unit))
        yield self._advance

    def _advance(self, more: int) -> None:
        self.done += more


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


def test_kwok_is_built_with_the_control_plane_by_one_command(tmp_path: Path, path: Path) -> None:
    put_go(path)

    build_quietly(CONTROL_PLANE, tmp_path / "cache")

    assert (tmp_path / "cache" / "kwok").resolve() == tmp_path / "cache" / "controlplane"
    assert [call.split()[0] for call in calls(path)] == ["list", "build"]


def test_kwok_alone_is_built_without_the_control_plane(tmp_path: Path, path: Path) -> None:
    put_go(path)

    build_quietly(KWOK, tmp_path / "cache")

    assert calls(path)[-1].endswith(" sigs.k8s.io/kwok/cmd/kwok")


def test_kubectl_is_built_where_path_has_none(tmp_path: Path, path: Path) -> None:
    put_go(path)

    build_quietly(CONTROL_PLANE, tmp_path / "cache")

    assert (tmp_path / "cache" / "kubectl").is_file()
    assert all(" -tags=kubectl " in call for call in calls(path))


def test_kubectl_is_not_built_where_path_has_one(tmp_path: Path, path: Path) -> None:
    put_go(path)
    put_program(path / "kubectl")

    build_quietly(CONTROL_PLANE, tmp_path / "cache")

    assert not (tmp_path / "cache" / "kubectl").exists()
    assert not any("-tags=kubectl" in call for call in calls(path))


def test_kubectl_of_an_earlier_build_is_replaced_with_the_control_plane(tmp_path: Path, path: Path) -> None:
    put_go(path)
    build_quietly(CONTROL_PLANE, tmp_path / "cache")
    put_program(path / "kubectl")

    build_quietly(CONTROL_PLANE, tmp_path / "cache")

    assert " -tags=kubectl " in calls(path)[-1]


def test_build_is_listed_with_the_flags_that_it_is_built_with(tmp_path: Path, path: Path) -> None:
    put_go(path)

    build_quietly(CONTROL_PLANE, tmp_path / "cache")

    listed, built = (call[call.index("-mod=") :] for call in calls(path))
    assert listed.removesuffix(" .") in built


@pytest.mark.parametrize("programs", [CONTROL_PLANE, KWOK])
def test_build_needs_no_c_compiler(tmp_path: Path, path: Path, programs: tuple[str, ...]) -> None:
    put_go(path, build=f'[ "$CGO_ENABLED" = 0 ] || exit 1; {WRITE}')

    build_quietly(programs, tmp_path / "cache")

    assert (tmp_path / "cache" / programs[0]).exists()


def test_progress_of_a_build_is_counted_in_packages(tmp_path: Path, path: Path) -> None:
    put_go(path, build=f"echo fmt >&2; echo os >&2; echo go: another line >&2; {WRITE}")
    amounts = Amounts()

    build(KWOK, tmp_path / "cache", amounts)

    assert amounts.shown[-1] == (2, PACKAGES)
    assert amounts.done == 2


def test_build_of_which_nothing_is_left_shows_no_total(tmp_path: Path, path: Path) -> None:
    put_go(path, listing=":")
    amounts = Amounts()

    build(KWOK, tmp_path / "cache", amounts)

    assert amounts.shown[-1] == (None, PACKAGES)


def test_modules_that_cannot_be_had_are_reported(tmp_path: Path, path: Path) -> None:
    put_go(path, listing="echo proxy not reachable >&2; exit 1")

    with pytest.raises(BinariesError, match="list` failed:\nproxy not reachable"):
        build_quietly(KWOK, tmp_path / "cache")


def test_error_of_a_build_is_shown_without_the_packages_after_it(tmp_path: Path, path: Path) -> None:
    put_go(path, build="echo fmt >&2; echo main.go:1: wrong >&2; echo os >&2; exit 1")

    with pytest.raises(BinariesError, match=r"build` failed:\nmain\.go:1: wrong$"):
        build_quietly(KWOK, tmp_path / "cache")


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
