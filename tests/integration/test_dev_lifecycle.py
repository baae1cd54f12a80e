"""Starting, stopping, and everything that can be left behind in between."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bench.observer import wait_for
from runner.dev import controlplane, directory, processes
from runner.dev.components import NAMES, AuditLevel, Options
from runner.dev.controlplane import ControlPlane
from runner.dev.layout import HOST, Ports, choose_ports
from runner.dev.processes import Process
from runner.dev.programs import Programs, find_programs
from runner.errors import ComponentError, DevError

pytestmark = pytest.mark.cluster

DEADLINE = 60.0
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """Not started yet; nothing of it is left after the test."""
    plane = ControlPlane(tmp_path / "plane")
    yield plane
    plane.stop(delete=True)


def running(plane: ControlPlane) -> dict[str, Process]:
    return {status.name: status.process for status in plane.status() if status.process is not None}


def none_alive(wanted: dict[str, Process]) -> bool:
    return not any(processes.alive(process) for process in wanted.values())


def put_configmap(plane: ControlPlane, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    assert plane.api().call("POST", CONFIGMAPS, body)[0] == 201


def has_configmap(plane: ControlPlane, name: str) -> bool:
    return plane.api().call("GET", f"{CONFIGMAPS}/{name}")[0] == 200


def with_program(directory: Path, name: str, script: str) -> Callable[[], Programs]:
    """The usual programs, but for one, which is a shell script."""
    file = directory / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return lambda: Programs({**find_programs().paths, name: file})


@pytest.fixture(scope="module")
def second_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Another control plane beside the tests' own, which tests may stop and start."""
    plane = ControlPlane(tmp_path_factory.mktemp("second") / "plane")
    yield plane
    plane.stop(delete=True)


@pytest.fixture
def running_plane(second_plane: ControlPlane) -> ControlPlane:
    """It runs, whatever the last test has done to it."""
    second_plane.start()
    return second_plane


@pytest.mark.xdist_group("second control plane")
class TestRunningPlane:
    """What a running control plane is and does; its start is not looked at, so it is the same one."""

    def test_several_run_side_by_side(self, running_plane: ControlPlane, control_plane: ControlPlane) -> None:
        put_configmap(running_plane, "only-here")

        assert has_configmap(running_plane, "only-here")
        assert not has_configmap(control_plane, "only-here")

    def test_there_is_no_audit_log_unless_asked(self, running_plane: ControlPlane) -> None:
        assert not running_plane.audit_log.exists()

    def test_starting_what_runs_changes_nothing(self, running_plane: ControlPlane) -> None:
        before = running(running_plane)
        assert set(before) == set(NAMES)

        assert not ControlPlane(running_plane.layout.directory).start()

        assert running(running_plane) == before

    def test_component_can_be_out_for_a_while(self, running_plane: ControlPlane) -> None:
        put_configmap(running_plane, "before")

        running_plane.stop_component("kube-apiserver")
        with pytest.raises(ConnectionRefusedError):
            has_configmap(running_plane, "before")
        running_plane.start_component("kube-apiserver")

        assert has_configmap(running_plane, "before")
        assert running_plane.is_running()

    def test_half_of_a_set_is_replaced_by_a_whole_one(self, running_plane: ControlPlane) -> None:
        before = running(running_plane)
        running_plane.stop_component("kube-apiserver")

        assert running_plane.start()

        assert none_alive(before)
        assert set(running(running_plane)) == set(NAMES)

    def test_data_is_thrown_away_unless_kept(self, running_plane: ControlPlane) -> None:
        put_configmap(running_plane, "gone")
        running_plane.stop()

        assert running_plane.start()

        assert not has_configmap(running_plane, "gone")

    def test_nothing_is_left_after_a_stop_but_the_other_control_plane(
        self, running_plane: ControlPlane, control_plane: ControlPlane
    ) -> None:
        before = running(running_plane)
        assert set(before) == set(NAMES)

        running_plane.stop()

        assert none_alive(before)
        assert not running_plane.layout.directory.exists()
        assert set(running(control_plane)) == set(NAMES)


@pytest.fixture(scope="module")
def kept_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A stopped one, in whose kept data is the ConfigMap `kept`."""
    plane = ControlPlane(tmp_path_factory.mktemp("kept") / "plane", Options(keep=True))
    plane.start()
    try:
        put_configmap(plane, "kept")
        before = running(plane)
        plane.stop()
        assert none_alive(before)
        yield plane
    finally:
        plane.stop(delete=True)
    assert not plane.layout.directory.exists()


@pytest.mark.xdist_group("kept data")
class TestKeptData:
    """Data that is kept stays whatever starts and stops come after."""

    def test_kept_data_is_there_again_after_a_restart(self, kept_plane: ControlPlane) -> None:
        kubeconfig = kept_plane.kubeconfig.read_text()

        # Kept once, kept until deleted: also when the next start does not say so.
        ControlPlane(kept_plane.layout.directory).start()

        assert has_configmap(kept_plane, "kept")
        assert kept_plane.kubeconfig.read_text() == kubeconfig
        kept_plane.stop()

    def test_kept_data_outlives_a_start_that_fails_and_a_change_of_ports(
        self, kept_plane: ControlPlane, tmp_path: Path
    ) -> None:
        programs = with_program(tmp_path, "kube-apiserver", "echo no >&2; exit 1")
        with pytest.raises(ComponentError, match="kube-apiserver ended"):
            ControlPlane(kept_plane.layout.directory, programs=programs).start()

        before = kept_plane.ports
        with socket.socket() as somebody:
            somebody.bind((HOST, before.kubelet))
            kept_plane.start()
        assert has_configmap(kept_plane, "kept")
        _, node = kept_plane.api().call("GET", "/api/v1/nodes/node-1")
        port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        assert port == kept_plane.ports.kubelet != before.kubelet
        kept_plane.stop()


@dataclass(frozen=True)
class Ended:
    """What was seen of a control plane that has ended."""

    audit_log: str
    remaining: list[Path]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """One with an audit log, in a directory that was there before."""
    directory = tmp_path_factory.mktemp("audited")
    with ControlPlane(directory, Options(audit=AuditLevel.REQUEST)) as plane:
        put_configmap(plane, "with-its-body")
        audit_log = plane.audit_log.read_text()
    return Ended(audit_log, list(directory.iterdir()))


@pytest.mark.xdist_group("audited control plane")
def test_audit_log_holds_as_much_as_asked(ended: Ended) -> None:
    assert '"requestObject":{"kind":"ConfigMap"' in ended.audit_log


@pytest.mark.xdist_group("audited control plane")
def test_directory_that_was_there_before_stays(ended: Ended) -> None:
    assert ended.remaining == []


def test_stopping_what_never_ran_is_no_error(plane: ControlPlane) -> None:
    assert not plane.stop()


def test_nothing_listens_beyond_the_loopback(control_plane: ControlPlane) -> None:
    # /proc/net/tcp: local address and port in hex, 0A is LISTEN, then the socket's inode.
    inodes = {
        link.readlink().name
        for process in running(control_plane).values()
        for link in Path(f"/proc/{process.pid}/fd").iterdir()
        if link.is_symlink() and link.readlink().name.startswith("socket:")
    }
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    addresses = {
        fields[1].split(":")[0] for fields in lines if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes
    }
    assert addresses == {"0100007F"}


def test_other_files_in_the_directory_stay(tmp_path: Path) -> None:
    with ControlPlane(tmp_path / "plane") as plane:
        mine = [
            plane.layout.directory / "notes.txt",
            plane.layout.config / "mine.yaml",
            plane.layout.data / "mine",
        ]
        for file in mine:
            file.write_text("mine")

    assert {file for file in plane.layout.directory.rglob("*") if not file.is_dir()} == set(mine)


def test_record_of_a_process_that_is_not_ours_ends_nobody(plane: ControlPlane) -> None:
    plane.layout.run.mkdir(parents=True)
    directory.put_mark(plane.layout)
    stranger = subprocess.Popen(["/bin/sleep", "300"])
    try:
        # Our record of a pid that has since been given to somebody else: another start time.
        fields = Path(f"/proc/{stranger.pid}/stat").read_text().split(" ")
        fields[21] = "1"
        plane.layout.record("etcd").write_text(" ".join(fields))

        plane.start()

        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("then", ["start", "stop"])
def test_what_a_killed_start_left_behind_is_cleaned_up(plane: ControlPlane, then: str) -> None:
    script = "import sys; from runner.dev.controlplane import ControlPlane; ControlPlane(sys.argv[1]).start()"
    starting = subprocess.Popen([sys.executable, "-c", script, str(plane.layout.directory)])
    first = {"etcd", "kube-apiserver"}
    wait_for("the first two to run", lambda: set(running(plane)) == first, seconds=DEADLINE, every=0.01)
    starting.send_signal(signal.SIGKILL)
    starting.wait()
    orphans = running(plane)
    assert orphans

    getattr(plane, then)()

    assert none_alive(orphans)
    assert plane.is_running() == (then == "start")


def test_component_that_ends_at_once_shows_how_its_log_ends(tmp_path: Path) -> None:
    programs = with_program(tmp_path, "kube-apiserver", "echo first >&2; echo error: the reason >&2; exit 1")
    plane = ControlPlane(tmp_path / "plane", programs=programs)

    with pytest.raises(ComponentError, match=r"kube-apiserver ended .*: error: the reason\n.*\nfirst\n") as raised:
        plane.start()

    assert raised.value.component == "kube-apiserver"
    assert running(plane) == {}


def test_start_that_fails_late_leaves_nothing(tmp_path: Path) -> None:
    plane = ControlPlane(tmp_path / "new" / "plane", programs=with_program(tmp_path, "kwok", "exit 1"))

    with pytest.raises(ComponentError, match="kwok ended") as raised:
        plane.start()

    assert running(plane) == {}
    assert not (tmp_path / "new").exists()
    assert raised.value.__notes__ == ["Nothing of it was left: every process was ended, every file removed."]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_start_that_is_told_to_end_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    plane = ControlPlane(tmp_path / "new" / "plane")
    heeding = ["env", "--default-signal=INT"]  # a shell has its background processes ignore it
    command = [*heeding, sys.executable, "-m", "runner", "dev", "up", "--dir", str(plane.layout.directory)]
    starting = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_for("the first two to run", lambda: len(running(plane)) == 2, seconds=DEADLINE, every=0.01)
    begun = running(plane)

    starting.send_signal(number)

    _, told = starting.communicate(timeout=DEADLINE)
    assert starting.returncode == 128 + number
    assert none_alive(begun)
    assert not (tmp_path / "new").exists()
    assert b"Traceback" not in told


def test_control_plane_needs_no_default_route(tmp_path: Path) -> None:
    alone = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody make a network namespace")
    script = "import sys; from runner.dev.controlplane import ControlPlane\nwith ControlPlane(sys.argv[1]): pass"
    command = 'ip link set lo up && exec "$0" -c "$1" "$2"'

    ended = subprocess.run(
        [*alone, "sh", "-c", command, sys.executable, script, str(tmp_path / "plane")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr


def test_port_taken_in_between_is_replaced_by_another(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as somebody:
        somebody.bind((HOST, 0))
        somebody.listen()
        taken = replace(choose_ports(), api=somebody.getsockname()[1])
        choices = iter([taken])

        def choose(previous: Ports | None, host: str) -> Ports:
            return next(choices, None) or choose_ports(previous, host)

        monkeypatch.setattr(controlplane, "choose_ports", choose)

        plane.start()

    current = plane.state()
    assert current is not None
    assert current.ports.api != taken.api


def test_client_of_what_was_never_started_says_what_to_do(plane: ControlPlane) -> None:
    with pytest.raises(DevError, match="ansible-operator dev up"):
        plane.api()
