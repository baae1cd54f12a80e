"""From an empty folder to a custom resource of an own kind that is Successful: four commands, the seconds of each.

Run from a checkout by `make bench-start`. The control plane's programs are in the cache; nothing else is prepared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.kubectl import kubectl_program
from runner.dev.programs import cache_directory

PATIENCE = 120
"""Seconds that the custom resource may take."""
_OPERATOR = [sys.executable, "-m", "runner"]
_COLLECTION = Path("ansible_collections/acme/web")
_KIND = ("--group", "example.com", "--version", "v1alpha1", "--kind", "Website")
_SAMPLE = "config/samples/website.yaml"


@dataclass(frozen=True, slots=True)
class Step:
    """A command as it is typed, and the seconds until the next could be."""

    command: str
    seconds: float


def start(directory: Path, *, from_role: str = "", collections: Path | None = None) -> list[Step]:
    """Type the four commands in an empty directory, wait for the custom resource, and end all of it.

    `from_role` is a role of a collection below `collections`. Raises CalledProcessError, with what was said, for a
    command that fails.
    """
    home = directory.parent / f"{directory.name}-home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "KUBEBUILDER_ASSETS": str(cache_directory())}
    if collections:
        environment["ANSIBLE_COLLECTIONS_PATH"] = str(collections)
    role = ("--from-role", from_role) if from_role else ()
    steps = [
        _step(["init", "."], directory, environment),
        _step(["create", "api", *_KIND, *role], directory, environment),
    ]
    with _dev_run(directory, environment) as running:
        steps.append(running)
        steps.append(_apply(directory, environment))
    return steps


def package(role: Path, collections: Path) -> str:
    """Put a role into a collection there, as a package brings it; its name."""
    shutil.copytree(role, collections / _COLLECTION / "roles" / role.name)
    return f"acme.web.{role.name}"


def _step(words: Sequence[str], directory: Path, environment: Mapping[str, str]) -> Step:
    began = time.monotonic()
    _call([*_OPERATOR, *words], directory, environment)
    return Step(" ".join(["ansible-operator", *words]), time.monotonic() - began)


@contextmanager
def _dev_run(directory: Path, environment: Mapping[str, str]) -> Iterator[Step]:
    """The operator, until the API server knows the kind; ended with its control plane."""
    began = time.monotonic()
    log = directory.parent / f"{directory.name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*_OPERATOR, "dev", "run"], cwd=directory, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        while b"Ready" not in log.read_bytes():
            if process.poll() is not None or time.monotonic() > began + PATIENCE:
                raise subprocess.CalledProcessError(process.poll() or 1, "dev run", log.read_bytes())
            time.sleep(0.05)
        yield Step("ansible-operator dev run", time.monotonic() - began)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        _call([*_OPERATOR, "dev", "down", "--delete"], directory, environment)


def _apply(directory: Path, environment: Mapping[str, str]) -> Step:
    kubeconfig = _call([*_OPERATOR, "dev", "kubeconfig"], directory, environment).strip()
    kubectl = [kubectl_program(), "--kubeconfig", kubeconfig]
    began = time.monotonic()
    _call([*kubectl, "apply", "-f", _SAMPLE], directory, environment)
    wait = ["wait", "--for=condition=Successful", f"--timeout={PATIENCE}s", "-f", _SAMPLE]
    _call([*kubectl, *wait], directory, environment)
    return Step(f"kubectl apply -f {_SAMPLE}", time.monotonic() - began)


def _call(command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> str:
    ended = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if ended.returncode:
        raise subprocess.CalledProcessError(ended.returncode, command, ended.stdout)
    return ended.stdout


def _print(title: str, steps: Sequence[Step]) -> None:
    sys.stdout.write(f"{title}\n")
    for step in [*steps, Step("Successful after", sum(step.seconds for step in steps))]:
        sys.stdout.write(f"  {step.seconds:5.1f} s  {step.command}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    argparse.ArgumentParser(description=__doc__).parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        own, other = Path(folder, "own"), Path(folder, "other")
        own.mkdir()
        other.mkdir()
        _print("with a new role", start(own))
        name = package(own / "roles/website", Path(folder, "collections"))
        _print(
            "with the role of a collection", start(other, from_role=name, collections=Path(folder, "collections"))
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
