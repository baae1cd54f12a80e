"""Secrets that pass a run are found nowhere but where they have to be, however the run ends."""

from __future__ import annotations

import json
import os
import socket
import stat
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml

from bench.observer import Object, Observer, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import GROUP, PATIENCE, Project, Things, files_below

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("canary")]

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
  ansible.builtin.file:
    path: "{{ lookup('env', 'REACHED') }}/{{ ansible_operator_meta.name }}"
    state: touch
    mode: "0600"

- name: Fail with them
  ansible.builtin.fail: {msg: "cannot log in with {{ made }}"}
  when: mode == 'fail'
  no_log: true

- name: Take for ever
  ansible.builtin.command: sleep 600
  changed_when: false
  when: mode == 'hang'
"""


@dataclass(frozen=True)
class Cage:
    """A project whose runs handle every kind of secret, and everything that its operator can write to."""

    operator: OperatorProcess
    things: Things
    directory: Path
    port: int

    @property
    def reached(self) -> Path:
        """A file for each custom resource whose run has read every secret."""
        return self.directory / "reached"

    def create(self, name: str, mode: str, verbosity: int = 0) -> None:
        annotations = {"ansible.sdk.operatorframework.io/verbosity": str(verbosity)}
        self.things.create(name, {"password": SPEC, "mode": mode}, annotations=annotations)
        wait_for("the run to have read every secret", (self.reached / name).exists, seconds=PATIENCE)

    def found(self) -> list[str]:
        """Where any of the secrets is, of all places that are not made for it."""
        contents = [*self._files(), *self._processes(), *self._api()]
        secrets = list(self._secrets())
        return sorted(
            f"{secret} in {place}"
            for place, content in contents
            for secret in secrets
            if secret.encode() in content
        )

    def _secrets(self) -> Iterator[str]:
        yield from (SPEC, SECRET, VARIABLE)
        yield _key_of(self.directory.parent)
        for file in files_below(self.directory):
            if file.name != "kubeconfig":
                continue
            with suppress(OSError):  # the run has ended meanwhile
                if text := file.read_text():  # else the next run is about to write it
                    yield yaml.safe_load(text)["users"][0]["user"]["password"]

    def _files(self) -> Iterator[tuple[str, bytes]]:
        for file in files_below(self.directory):
            # What a run is given, and what the role itself has read and keeps while it runs.
            if file.is_file() and not file.match("env/extravars") and file.name != "kubeconfig":
                with suppress(FileNotFoundError):  # the operator has removed it meanwhile
                    yield str(file), file.read_bytes()

    def _processes(self) -> Iterator[tuple[str, bytes]]:
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and int(process.name) != os.getpid():
                with suppress(OSError):
                    yield f"{process}/cmdline", (process / "cmdline").read_bytes()
                    environment = (process / "environ").read_bytes()
                    yield f"{process}/environ", environment.replace(VARIABLE.encode(), b"its own")

    def _api(self) -> Iterator[tuple[str, bytes]]:
        for thing in self.things.observer.list(GROUP, "Thing"):
            yield f"status of {thing['metadata']['name']}", json.dumps(thing.get("status")).encode()
        yield "Events", json.dumps(self.things.observer.list("v1", "Event")).encode()
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


Cages = Callable[[str], Cage]


@contextmanager
def caged(plane: ControlPlane, work: Path, *flags: str) -> Iterator[Cage]:
    """An operator that is still to be started, in a namespace of its own."""
    name = f"canary-{uuid.uuid4().hex[:8]}"
    observer = Observer(plane.kubeconfig, name)
    observer.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "canary"}}
    observer.create({**secret, "stringData": {"password": SECRET}})
    user = yaml.safe_load(plane.kubeconfig.read_text())["users"][0]["user"]
    (work / "key").write_text(user["client-key-data"][100:150])
    directory, port = work / "operator", _free_port()
    environment = {"WATCH_NAMESPACE": name, **_environment(directory)}
    operator = OperatorProcess(
        _project(work / "project").path,
        plane.kubeconfig,
        directory,
        "--zap-log-level=debug",
        "--ansible-log-events=everything",
        f"--metrics-bind-address=127.0.0.1:{port}",
        "--graceful-shutdown-timeout=0s",
        *flags,
        environment=environment,
    )
    try:
        yield Cage(operator, Things(observer), directory, port)
    finally:
        operator.stop()
        observer.delete("v1", "Namespace", name)
        observer.close()


def _project(path: Path) -> Project:
    path.mkdir()
    project = Project(path)
    project.role("careful", ROLE)
    project.watch("careful", markUnsafe=True)
    return project


def _environment(directory: Path) -> dict[str, str]:
    """Secrets that runs are given, and where operator and runs write."""
    places = {"REACHED": directory / "reached", "TMPDIR": directory / "temporary", "HOME": directory / "home"}
    for place in places.values():
        place.mkdir(parents=True)
    return {
        "ANSIBLE_GATHERING": "explicit",
        "ANSIBLE_DEBUG_LOGS": "true",
        "DATABASE_PASSWORD": VARIABLE,
        **{name: str(place) for name, place in places.items()},
    }


@pytest.fixture(scope="module")
def shared_cages(
    control_plane: ControlPlane, kinds: Observer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cages]:
    with ExitStack() as ended:

        @cache
        def cage_of(executor: str) -> Cage:
            work = tmp_path_factory.mktemp(f"canary-{executor}")
            cage = ended.enter_context(caged(control_plane, work, f"--executor={executor}"))
            cage.operator.start()
            return cage

        yield cage_of


@pytest.fixture
def cages(shared_cages: Cages) -> Iterator[Cages]:
    """Gives the cage of an executor, whose operator runs; the test's custom resources are deleted after it."""
    used: list[Cage] = []

    def cage_of(executor: str) -> Cage:
        used.append(shared_cages(executor))
        return used[-1]

    yield cage_of
    for cage in used:
        for thing in cage.things.observer.list(GROUP, "Thing"):
            cage.things.delete(thing["metadata"]["name"])


@pytest.fixture
def mortal(control_plane: ControlPlane, kinds: Observer, tmp_path: Path) -> Iterator[Cage]:
    """A cage of the test's own, whose operator may be killed."""
    with caged(control_plane, tmp_path) as cage:
        cage.operator.start()
        yield cage


@pytest.mark.parametrize(("verbosity", "executor"), [(0, "warm"), (2, "cold"), (7, "auto")])
def test_a_run_that_succeeded_tells_nothing(cages: Cages, verbosity: int, executor: str) -> None:
    cage = cages(executor)
    cage.create("succeeds", "succeed", verbosity)
    cage.things.wait("succeeds", "Successful")

    assert cage.found() == []


@pytest.mark.parametrize(("verbosity", "executor"), [(0, "warm"), (2, "cold"), (7, "auto")])
def test_a_run_that_failed_tells_nothing(cages: Cages, verbosity: int, executor: str) -> None:
    cage = cages(executor)
    cage.create("fails", "fail", verbosity)
    cage.things.wait("fails", "Failure")

    assert cage.found() == []


def test_a_run_under_way_tells_nothing(cages: Cages) -> None:
    cage = cages("auto")
    cage.create("hangs", "hang")

    assert cage.found() == []


def test_a_run_that_was_cancelled_tells_nothing(mortal: Cage) -> None:
    mortal.create("hangs", "hang")
    mortal.operator.stop()

    assert mortal.found() == []
    assert not list(mortal.directory.rglob("kubeconfig"))


def test_a_run_whose_operator_was_killed_tells_nothing(mortal: Cage) -> None:
    mortal.create("hangs", "hang")
    mortal.operator.kill()
    wait_for("every process of the run to be gone", lambda: not _processes_with(mortal.reached), seconds=10)

    assert mortal.found() == []


def test_whatever_is_written_for_a_run_is_private(mortal: Cage) -> None:
    operator = mortal.operator
    mortal.create("succeeds", "succeed")
    mortal.things.wait("succeeds", "Successful")

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
