"""Secrets that pass a run are found nowhere but where they have to be, however the run ends."""

from __future__ import annotations

import json
import os
import socket
import stat
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.observer import wait_for
from bench.operator import OperatorProcess
from runner.dev.api import Api
from tests.fixtures.operators import PATIENCE, Operate, Project, Things

pytestmark = pytest.mark.cluster

SPEC, SECRET, VARIABLE = "canary-of-the-spec", "canary-of-a-secret", "canary-of-the-environment"

ROLE = """
- name: Read a Secret
  kubernetes.core.k8s_info:
    api_version: v1
    kind: Secret
    namespace: "{{ ansible_operator_meta.namespace }}"
    name: canary
  register: read
  no_log: true

- name: Make something of all of them
  ansible.builtin.set_fact:
    made: >-
      {{ password }} {{ read.resources[0].data.password | b64decode }} {{ lookup('env', 'DATABASE_PASSWORD') }}
  no_log: true

- name: Hand them to a command
  ansible.builtin.command: {cmd: cat, stdin: "{{ made }}"}
  changed_when: false
  no_log: true

- name: Say that the run has come this far
  ansible.builtin.file: {path: "{{ lookup('env', 'REACHED') }}", state: touch, mode: "0600"}

- name: Fail with them
  ansible.builtin.fail: {msg: "cannot log in with {{ made }}"}
  when: mode == 'fail'
  no_log: true

- name: Take for ever
  ansible.builtin.command: sleep 600
  changed_when: false
  when: mode == 'hang'
"""


@dataclass
class Cage:
    """A project whose runs handle every kind of secret, and everything that its operator can write to."""

    project: Project
    operate: Operate
    things: Things
    admin: Api
    directory: Path

    def start(self, *flags: str, **environment: str) -> OperatorProcess:
        self.temporary.mkdir(parents=True, exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self.port = _free_port()
        return self.operate(
            "--zap-log-level=debug",
            "--ansible-log-events=everything",
            f"--metrics-bind-address=127.0.0.1:{self.port}",
            *flags,
            ANSIBLE_DEBUG_LOGS="true",
            DATABASE_PASSWORD=VARIABLE,
            REACHED=str(self.reached),
            TMPDIR=str(self.temporary),
            HOME=str(self.home),
            **environment,
        )

    @property
    def reached(self) -> Path:
        return self.directory / "reached"

    @property
    def temporary(self) -> Path:
        return self.directory / "temporary"

    @property
    def home(self) -> Path:
        return self.directory / "home"

    def create(self, mode: str, verbosity: int) -> None:
        annotations = {"ansible.sdk.operatorframework.io/verbosity": str(verbosity)}
        self.things.create("one", {"password": SPEC, "mode": mode}, annotations=annotations)
        wait_for("the run to have read every secret", self.reached.exists, seconds=PATIENCE)

    def found(self) -> list[str]:
        """Where any of the secrets is, of all places that are not made for it."""
        return sorted(
            f"{secret} in {place}"
            for place, content in [*self._files(), *self._processes(), *self._api()]
            for secret in self._secrets()
            if secret.encode() in content
        )

    def _secrets(self) -> Iterator[str]:
        yield from (SPEC, SECRET, VARIABLE)
        yield _key_of(self.directory.parent)
        for file in self.directory.rglob("kubeconfig"):
            with suppress(OSError):  # the run has ended meanwhile
                if text := file.read_text():  # else the next run is about to write it
                    yield yaml.safe_load(text)["users"][0]["user"]["password"]

    def _files(self) -> Iterator[tuple[str, bytes]]:
        for file in self.directory.rglob("*"):
            # What a run is given, and what the role itself has read and keeps while it runs.
            if file.is_file() and not file.match("env/extravars") and file.name != "kubeconfig":
                yield str(file), file.read_bytes()

    def _processes(self) -> Iterator[tuple[str, bytes]]:
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and int(process.name) != os.getpid():
                with suppress(OSError):
                    yield f"{process}/cmdline", (process / "cmdline").read_bytes()
                    environment = (process / "environ").read_bytes()
                    yield f"{process}/environ", environment.replace(VARIABLE.encode(), b"its own")

    def _api(self) -> Iterator[tuple[str, bytes]]:
        namespace = self.things.observer.namespace
        yield "status", json.dumps(self.things.status("one")).encode()
        _, events = self.admin.call("GET", f"/api/v1/namespaces/{namespace}/events")
        yield "Events", json.dumps(events).encode()
        with (
            suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer,
        ):
            yield "metrics", answer.read()


def _key_of(directory: Path) -> str:
    """A line of the key that the operator logs in with."""
    return str((directory / "key").read_text())


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@pytest.fixture
def cage(
    project: Project, operate: Operate, things: Things, admin: Api, control_plane: Any, tmp_path: Path
) -> Cage:
    user = yaml.safe_load(control_plane.kubeconfig.read_text())["users"][0]["user"]
    (tmp_path / "key").write_text(user["client-key-data"][100:150])
    things.observer.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "canary"}, "stringData": {"password": SECRET}}
    )
    project.role("careful", ROLE)
    project.watch("careful", markUnsafe=True)
    return Cage(project, operate, things, admin, tmp_path / "operator")


@pytest.mark.parametrize(("verbosity", "executor"), [(0, "warm"), (2, "cold"), (7, "auto")])
def test_a_run_that_succeeded_tells_nothing(cage: Cage, verbosity: int, executor: str) -> None:
    cage.start(f"--executor={executor}")
    cage.create("succeed", verbosity)
    cage.things.wait("one", "Successful")

    assert cage.found() == []


@pytest.mark.parametrize(("verbosity", "executor"), [(0, "warm"), (2, "cold"), (7, "auto")])
def test_a_run_that_failed_tells_nothing(cage: Cage, verbosity: int, executor: str) -> None:
    cage.start(f"--executor={executor}")
    cage.create("fail", verbosity)
    cage.things.wait("one", "Failure")

    assert cage.found() == []


def test_a_run_under_way_tells_nothing(cage: Cage) -> None:
    cage.start()
    cage.create("hang", 0)

    assert cage.found() == []


def test_a_run_that_was_cancelled_tells_nothing(cage: Cage) -> None:
    operator = cage.start("--graceful-shutdown-timeout=0s")
    cage.create("hang", 0)
    operator.stop()

    assert cage.found() == []
    assert not list(cage.directory.rglob("kubeconfig"))


def test_a_run_whose_operator_was_killed_tells_nothing(cage: Cage) -> None:
    operator = cage.start()
    cage.create("hang", 0)
    operator.kill()
    wait_for("every process of the run to be gone", lambda: not _processes_with(cage.reached), seconds=10)

    assert cage.found() == []


def test_whatever_is_written_for_a_run_is_private(cage: Cage) -> None:
    operator = cage.start()
    cage.create("succeed", 0)
    cage.things.wait("one", "Successful")

    ours = [path for path in operator.runner_dir.rglob("*") if ".tmp" not in path.parts and not path.is_symlink()]
    modes = {str(path): stat.S_IMODE(path.lstat().st_mode) for path in [operator.runner_dir, *ours]}
    assert {path: oct(mode) for path, mode in modes.items() if mode & 0o077 and "fact_cache" not in path} == {}


def _processes_with(reached: Path) -> list[str]:
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and f"REACHED={reached}".encode() in (process / "environ").read_bytes():
                found.append(process.name)
    return found
