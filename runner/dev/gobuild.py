"""Build the programs from the Go module shipped in this package: for where no release can be downloaded.

Go verifies every source against the module's go.sum.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runner.dev import checksums
from runner.dev.processes import TAIL_LINES
from runner.dev.progress import PACKAGES, Advance, Progress
from runner.dev.releases import VERSIONS
from runner.errors import BinariesError

MODULE = Path(__file__).parent / "gomodule" / "controlplane"
POLL_SECONDS = 0.5
GO_LINE = re.compile(r"^go (\d+)\.(\d+)", re.MULTILINE)
GO_VERSION = re.compile(r"^go(\d+)\.(\d+)")
# A person's own flags and workspace are for other modules.
GO_VARIABLES = {"GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "", "GO111MODULE": "on"}


@dataclass(frozen=True)
class Build:
    """One program, called `module`, to build from one package; `names` are the programs it stands for.

    Without `cgo`, no C compiler is needed, and the program is linked statically, as the releases are.
    """

    module: str
    package: str
    names: tuple[str, ...]
    minutes: int
    tags: tuple[str, ...] = ()
    cgo: bool = True


# One program for five: it looks at the name it was started by.
CONTROL_PLANE = Build(
    "controlplane",
    ".",
    ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"),
    4,
    cgo=False,
)
# Where the others were downloaded: a third of their packages.
KWOK = Build("kwok", "sigs.k8s.io/kwok/cmd/kwok", (), 2, cgo=False)
KUBECTL = "kubectl"


def build(programs: Sequence[str], directory: Path, progress: Progress) -> None:
    """Put what `programs` needs into `directory`; raises BinariesError as `build_module` does."""
    build_module(_build_of(programs, directory), MODULE, directory, progress)


def _build_of(programs: Sequence[str], directory: Path) -> Build:
    if tuple(programs) == (KWOK.module,):
        return KWOK
    # A kubectl of an earlier build is a link to the program that is replaced.
    if shutil.which(KUBECTL) and not (directory / KUBECTL).is_symlink():
        return CONTROL_PLANE
    return replace(CONTROL_PLANE, names=(*CONTROL_PLANE.names, KUBECTL), tags=(KUBECTL,))


def build_module(wanted: Build, module: Path, directory: Path, progress: Progress) -> None:
    """Put the program of `module`, under each of its names, into `directory`.

    Raises BinariesError when Go is missing, too old, or the build fails (with the end of its output).
    """
    go = _go(module)
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=directory) as temporary:
        source = Path(temporary) / "source"
        _copy(module, source)
        program = Path(temporary) / wanted.module
        _build(go, wanted, source, program, progress)
        for name in (wanted.module, *wanted.names):
            checksums.record(directory / name, program)
        program.rename(directory / wanted.module)
        for name in wanted.names:
            # Made beside its place and moved there, as it may be in use.
            link = Path(temporary) / name
            link.symlink_to(wanted.module)
            link.rename(directory / name)


def _build(go: str, wanted: Build, source: Path, program: Path, progress: Progress) -> None:
    """Build `program`; the packages that Go has no result of in its cache are the measure of progress."""
    environment = _environment(wanted)
    listing = Command(list_command(go, wanted), source, environment)
    packages = frozenset(listing.run(progress, f"getting the Go modules of {wanted.module}").split())
    building = Command(build_command(go, wanted, program), source, environment)
    label = f"building {wanted.module} with Go (about {wanted.minutes} minutes the first time)"
    building.run(progress, label, packages)


def list_command(go: str, wanted: Build) -> list[str]:
    """The command line that prints the packages to compile; run it in the module's directory."""
    stale = "{{if .Stale}}{{.ImportPath}}{{end}}"
    return [go, "list", "-deps", "-f", stale, *_flags(wanted), wanted.package]


def build_command(go: str, wanted: Build, program: Path) -> list[str]:
    """The command line of the build; run it in the module's directory. It prints each package it compiles."""
    return [go, "build", "-v", *_flags(wanted), "-o", str(program), wanted.package]


def _flags(wanted: Build) -> list[str]:
    """The same to list and to build: they are part of what Go knows a package by in its cache."""
    return [
        "-mod=readonly",
        "-buildvcs=false",
        "-trimpath",
        f"-tags={','.join(wanted.tags)}",
        # `-s -w` leaves out what only debuggers read; without it the compiler takes a tenth less time.
        "-gcflags=all=-dwarf=false",
        f"-ldflags=-s -w {_version_flags(VERSIONS.kubernetes)}",
    ]


def _version_flags(version: str) -> str:
    # Without these the programs call themselves v0.0.0, and kubectl prints an error about it.
    major, minor, _ = version.removeprefix("v").split(".", 2)
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())


def _go(module: Path) -> str:
    go = shutil.which("go")
    wanted = GO_LINE.search((module / "go.mod").read_text())
    if wanted is None:
        raise BinariesError(f"{module / 'go.mod'}: no `go` line")
    least = f"Go {wanted[1]}.{wanted[2]} or newer is needed"
    if go is None:
        raise BinariesError(f"no `go` on PATH; {least}")
    environment = os.environ | GO_VARIABLES
    answer = subprocess.run([go, "env", "GOVERSION"], env=environment, capture_output=True, text=True, check=False)
    found = GO_VERSION.match(answer.stdout)
    if found is None:
        raise BinariesError(f"{go}: does not tell its version: {(answer.stdout + answer.stderr).strip()}")
    if (int(found[1]), int(found[2])) < (int(wanted[1]), int(wanted[2])):
        raise BinariesError(f"{go}: is {answer.stdout.strip()}; {least}")
    return go


def _environment(wanted: Build) -> dict[str, str]:
    cgo = {} if wanted.cgo else {"CGO_ENABLED": "0"}
    return (
        {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")} | GO_VARIABLES | cgo
    )


def _copy(module: Path, target: Path) -> None:
    # The package may be installed read-only; Go wants a directory it can lock and write in.
    target.mkdir()
    for file in module.iterdir():
        shutil.copyfile(file, target / file.name)


@dataclass(frozen=True)
class Command:
    """A command of Go, run in `directory`, a module's; what it prints goes to files beside that."""

    line: Sequence[str]
    directory: Path
    environment: dict[str, str]

    def run(self, progress: Progress, label: str, packages: frozenset[str] = frozenset()) -> str:
        """Its output; shows how many of `packages` it has named. Raises BinariesError when it fails."""
        output, messages = self.directory.with_name("output"), self.directory.with_name("messages")
        with (
            progress(label, len(packages) or None, PACKAGES) as advance,
            output.open("wb") as opened_output,
            messages.open("wb") as opened_messages,
            subprocess.Popen(
                self.line,
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=opened_output,
                stderr=opened_messages,
            ) as process,
        ):
            try:
                _follow(process, messages, packages, advance)
            except BaseException:
                process.terminate()
                raise
        if process.returncode != 0:
            raise BinariesError(f"`{' '.join(self.line[:2])}` failed:\n{_tail(messages, packages)}")
        return output.read_text(errors="replace")


def _follow(process: subprocess.Popen[bytes], messages: Path, packages: frozenset[str], advance: Advance) -> None:
    """Wait for the end of a build, and report the packages it names meanwhile."""
    done, ended = 0, False
    while not ended:
        ended = _ended(process)
        named = sum(line in packages for line in _lines(messages))
        advance(named - done)
        done = named


def _lines(file: Path) -> list[str]:
    return file.read_text(errors="replace").splitlines()


def _tail(messages: Path, packages: frozenset[str]) -> str:
    """The last messages; the packages of a build stand between its errors."""
    return "\n".join([line for line in _lines(messages) if line not in packages][-TAIL_LINES:])


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the process has ended; waits a little for that."""
    try:
        process.wait(POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True
