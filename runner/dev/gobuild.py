"""Build the programs from the Go modules shipped in this package: for where no release can be downloaded.

Go verifies every source against the module's go.sum.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.dev import checksums
from runner.dev.processes import tail
from runner.dev.progress import Progress
from runner.dev.releases import VERSIONS
from runner.errors import BinariesError

MODULES = Path(__file__).with_name("gomodule")
POLL_SECONDS = 0.5
GO_LINE = re.compile(r"^go (\d+)\.(\d+)", re.MULTILINE)
GO_VERSION = re.compile(r"^go(\d+)\.(\d+)")


@dataclass(frozen=True)
class Build:
    """One program to build from one module; `names` are the programs it stands for."""

    module: str
    package: str
    names: tuple[str, ...]
    minutes: int


# One program for five: it looks at the name it was started by.
CONTROL_PLANE = Build(
    "controlplane", ".", ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"), 6
)
KWOK = Build("kwok", "sigs.k8s.io/kwok/cmd/kwok", (), 2)


def build(programs: Sequence[str], directory: Path, progress: Progress) -> None:
    """Put what `programs` needs into `directory`; raises BinariesError as `build_module` does."""
    wanted = KWOK if "kwok" in programs else CONTROL_PLANE
    build_module(wanted, MODULES / wanted.module, directory, progress)


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
        _run(build_command(go, wanted, program), source, wanted, progress)
        for name in (wanted.module, *wanted.names):
            checksums.record(directory / name, program)
        program.rename(directory / wanted.module)
        for name in wanted.names:
            # Made beside its place and moved there, as it may be in use.
            link = Path(temporary) / name
            link.symlink_to(wanted.module)
            link.rename(directory / name)


def build_command(go: str, wanted: Build, program: Path) -> list[str]:
    """The command line of the build; run it in the module's directory."""
    return [
        go,
        "build",
        "-mod=readonly",
        "-buildvcs=false",
        "-trimpath",
        "-ldflags",
        f"-s -w {_version_flags(VERSIONS.kubernetes)}",
        "-o",
        str(program),
        wanted.package,
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
    answer = subprocess.run(
        [go, "env", "GOVERSION"], env=_environment(), capture_output=True, text=True, check=False
    )
    found = GO_VERSION.match(answer.stdout)
    if found is None:
        raise BinariesError(f"{go}: does not tell its version: {(answer.stdout + answer.stderr).strip()}")
    if (int(found[1]), int(found[2])) < (int(wanted[1]), int(wanted[2])):
        raise BinariesError(f"{go}: is {answer.stdout.strip()}; {least}")
    return go


def _environment() -> dict[str, str]:
    # A person's own flags, workspace or cross-compiling target are for other modules.
    ours = {"GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "", "GO111MODULE": "on"}
    return {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")} | ours


def _copy(module: Path, target: Path) -> None:
    # The package may be installed read-only; Go wants a directory it can lock and write in.
    target.mkdir()
    for file in module.iterdir():
        shutil.copyfile(file, target / file.name)


def _run(command: Sequence[str], directory: Path, wanted: Build, progress: Progress) -> None:
    output = directory.with_name("output")
    label = f"building {wanted.module} with Go (about {wanted.minutes} minutes the first time)"
    with (
        progress(label, None) as advance,
        output.open("wb") as opened,
        subprocess.Popen(
            command,
            cwd=directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=opened,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            while process.poll() is None:
                advance(0)
                _wait(process)
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise BinariesError(f"`{' '.join(command[:2])}` of {wanted.module} failed:\n{tail(output)}")


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return
